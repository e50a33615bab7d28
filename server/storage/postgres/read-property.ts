import { Turns } from "../../scheduling/turns.ts";
import { propertyIn } from "../analysis/property-split.ts";
import type { ReadProperty } from "../analysis/scan.ts";
import type { Query } from "./query.ts";

/** Users that one statement reads. */
const stepUsers = 5_000;

/** Reads a property of all users of a project. Yields to other work. */
export function createReadProperty(runQuery: Query): ReadProperty {
  return async function readProperty(projectId, key, take, { signal }) {
    const turns = new Turns(projectId);
    for (let after = ""; ; ) {
      const rows = await runQuery<{ user_id: string; properties: string }>(
        `SELECT user_id, properties FROM users
         WHERE project_id = $1 AND user_id > $2 ORDER BY user_id LIMIT $3`,
        [projectId, after, stepUsers],
      );
      for (const { user_id, properties } of rows) {
        const value = propertyIn(properties, key);
        if (value !== undefined) take(user_id, value);
      }
      if (rows.length < stepUsers) return;
      after = rows.at(-1)!.user_id;
      await turns.next();
      signal?.throwIfAborted();
    }
  };
}
