import type { Database } from "bun:sqlite";
import { Turns } from "../../scheduling/turns.ts";
import { propertyIn } from "../analysis/property-split.ts";
import type { ReadProperty } from "../analysis/scan.ts";

/** Users that one statement reads. */
const stepUsers = 1_000;

/** Reads a property of all users of a project. Yields to other work. */
export function createReadProperty(database: Database): ReadProperty {
  const select = database.prepare(
    "SELECT user_id, properties FROM users WHERE project_id = ?1 AND user_id > ?2 ORDER BY user_id LIMIT ?3",
  );
  return async function readProperty(projectId, key, take, { signal }) {
    const turns = new Turns(projectId);
    for (let after = ""; ; ) {
      const rows = select.values(projectId, after, stepUsers) as [userId: string, properties: string][];
      for (const [userId, properties] of rows) {
        const value = propertyIn(properties, key);
        if (value !== undefined) take(userId, value);
      }
      if (rows.length < stepUsers) return;
      after = rows.at(-1)![0];
      await turns.next();
      signal?.throwIfAborted();
    }
  };
}
