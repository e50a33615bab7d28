import { Turns } from "../../scheduling/turns.ts";
import { textOfProperty } from "../analysis/property-split.ts";
import type { ReadProperty } from "../analysis/scan.ts";
import type { Query } from "./query.ts";

/** Users that one statement reads. Their values have at most some megabytes. */
const stepUsers = 1_000;

/** Reads a property of all users of a project. Yields to other work. */
export function createReadProperty(runQuery: Query): ReadProperty {
  return async function readProperty(projectId, key, take, { signal }) {
    const turns = new Turns(projectId);
    for (let after = ""; ; ) {
      const rows = await runQuery<{ user_id: string; property: string | null }>(
        `SELECT user_id, (properties::json -> $4)::text AS property FROM users
         WHERE project_id = $1 AND user_id > $2 ORDER BY user_id LIMIT $3`,
        [projectId, after, stepUsers, key],
      );
      for (const { user_id, property } of rows) {
        const value = textOfProperty(property);
        if (value !== undefined) take(user_id, value);
        if (turns.isOver) await turns.next();
      }
      if (rows.length < stepUsers) return;
      after = rows.at(-1)!.user_id;
      await turns.next();
      signal?.throwIfAborted();
    }
  };
}
