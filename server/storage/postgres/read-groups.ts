import { Turns } from "../../scheduling/turns.ts";
import { textOfProperty } from "../analysis/property-split.ts";
import type { ReadGroups } from "../analysis/scan.ts";
import type { Query } from "./query.ts";

/** Members that one statement reads. */
const stepMembers = 5_000;
/** Groups that one statement reads. Their values have at most some megabytes. */
const stepGroups = 1_000;

/** Reads groups of a type. Yields to other work. */
export function createReadGroups(runQuery: Query): ReadGroups {
  return {
    async members({ projectId, type }, take, { signal }) {
      const turns = new Turns(projectId, signal);
      for (let after = { group_id: "", user_id: "" }; ; ) {
        const rows = await runQuery<{ group_id: string; user_id: string }>(
          `SELECT group_id, user_id FROM user_group_members
           WHERE project_id = $1 AND type = $2 AND (group_id, user_id) > ($3, $4)
           ORDER BY group_id, user_id LIMIT $5`,
          [projectId, type, after.group_id, after.user_id, stepMembers],
        );
        for (const { group_id, user_id } of rows) {
          take(group_id, user_id);
          if (turns.isOver) await turns.next();
        }
        if (rows.length < stepMembers) return;
        after = rows.at(-1)!;
        await turns.next();
      }
    },
    async property({ projectId, type, key }, take, { signal }) {
      const turns = new Turns(projectId, signal);
      for (let after = ""; ; ) {
        const rows = await runQuery<{ group_id: string; property: string | null }>(
          `SELECT group_id, (properties::json -> $5)::text AS property FROM user_groups
           WHERE project_id = $1 AND type = $2 AND group_id > $3 ORDER BY group_id LIMIT $4`,
          [projectId, type, after, stepGroups, key],
        );
        for (const { group_id, property } of rows) {
          const value = textOfProperty(property);
          if (value !== undefined) take(group_id, value);
          if (turns.isOver) await turns.next();
        }
        if (rows.length < stepGroups) return;
        after = rows.at(-1)!.group_id;
        await turns.next();
      }
    },
  };
}
