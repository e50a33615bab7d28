import type { PeopleSource } from "../analysis/person-hashes.ts";
import type { Query } from "./query.ts";

/** Reads who is joined to whom. */
export function peopleSource(runQuery: Query): PeopleSource {
  return {
    async versions(projectId) {
      const [row] = await runQuery<{ version: number; removed: number }>(
        "SELECT version, removed_version AS removed FROM people_versions WHERE project_id = $1",
        [projectId],
      );
      return row ?? null;
    },
    async rowsAfter(projectId, { version, userId }, limit) {
      const rows = await runQuery<{ user_id: string; person_id: string; version: number }>(
        `SELECT user_id, person_id, version FROM person_ids
         WHERE project_id = $1 AND (version, user_id) > ($2, $3) ORDER BY version, user_id LIMIT $4`,
        [projectId, version, userId, limit],
      );
      return rows.map((row) => ({ userId: row.user_id, personId: row.person_id, version: row.version }));
    },
  };
}
