import type { Database } from "bun:sqlite";
import { Turns } from "../../scheduling/turns.ts";
import { textOfProperty } from "../analysis/property-split.ts";
import type { ReadProperty } from "../analysis/scan.ts";

/** Users that one statement reads. SQLite parses all their properties in one turn, which can be 50 kB of each. */
const stepUsers = 100;

/** Reads a property of all users of a project. Yields to other work. */
export function createReadProperty(database: Database): ReadProperty {
  const select = database.prepare(
    `SELECT user_id, properties -> ?4 FROM users
     WHERE project_id = ?1 AND user_id > ?2 ORDER BY user_id LIMIT ?3`,
  );
  return async function readProperty(projectId, key, take, { signal }) {
    const turns = new Turns(projectId);
    const path = `$.${JSON.stringify(key)}`;
    for (let after = ""; ; ) {
      const rows = select.values(projectId, after, stepUsers, path) as [
        userId: string,
        property: string | null,
      ][];
      for (const [userId, property] of rows) {
        const value = textOfProperty(property);
        if (value !== undefined) take(userId, value);
        if (turns.isOver) await turns.next();
      }
      if (rows.length < stepUsers) return;
      after = rows.at(-1)![0];
      await turns.next();
      signal?.throwIfAborted();
    }
  };
}
