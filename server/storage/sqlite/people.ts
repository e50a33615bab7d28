import type { Database } from "bun:sqlite";
import type { PeopleSource } from "../analysis/person-hashes.ts";

/** Reads who is joined to whom. */
export function peopleSource(database: Database): PeopleSource {
  const selectVersions = database.prepare(
    "SELECT version, removed_version FROM people_versions WHERE project_id = ?1",
  );
  const selectRows = database.prepare(
    `SELECT user_id, person_id, version FROM person_ids
     WHERE project_id = ?1 AND (version, user_id) > (?2, ?3) ORDER BY version, user_id LIMIT ?4`,
  );
  return {
    async versions(projectId) {
      const [row] = selectVersions.values(projectId) as [version: number, removed: number][];
      return row ? { version: row[0], removed: row[1] } : null;
    },
    async rowsAfter(projectId, after, limit) {
      const rows = selectRows.values(projectId, after.version, after.userId, limit);
      return (rows as [string, string, number][]).map(([userId, personId, version]) => ({
        userId,
        personId,
        version,
      }));
    },
  };
}
