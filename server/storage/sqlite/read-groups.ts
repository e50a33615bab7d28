import type { Database } from "bun:sqlite";
import { Turns } from "../../scheduling/turns.ts";
import { textOfProperty } from "../analysis/property-split.ts";
import type { ReadGroups } from "../analysis/scan.ts";

/** Members that one statement reads. */
const stepMembers = 1_000;
/** Groups that one statement reads. SQLite parses all their properties in one turn, which can be 50 kB of each. */
const stepGroups = 100;

/** Reads groups of a type. Yields to other work. */
export function createReadGroups(database: Database): ReadGroups {
  const selectMembers = database.prepare(
    `SELECT group_id, user_id FROM user_group_members
     WHERE project_id = ?1 AND type = ?2 AND (group_id, user_id) > (?3, ?4)
     ORDER BY group_id, user_id LIMIT ?5`,
  );
  const selectProperty = database.prepare(
    `SELECT group_id, properties -> ?5 FROM user_groups
     WHERE project_id = ?1 AND type = ?2 AND group_id > ?3 ORDER BY group_id LIMIT ?4`,
  );
  return {
    async members({ projectId, type }, take, { signal }) {
      const turns = new Turns(projectId, signal);
      for (let after: [groupId: string, userId: string] = ["", ""]; ; ) {
        const rows = selectMembers.values(projectId, type, ...after, stepMembers) as [string, string][];
        for (const [groupId, userId] of rows) {
          take(groupId, userId);
          if (turns.isOver) await turns.next();
        }
        if (rows.length < stepMembers) return;
        after = rows.at(-1)!;
        await turns.next();
      }
    },
    async property({ projectId, type, key }, take, { signal }) {
      const turns = new Turns(projectId, signal);
      const path = `$.${JSON.stringify(key)}`;
      for (let after = ""; ; ) {
        const rows = selectProperty.values(projectId, type, after, stepGroups, path) as [
          groupId: string,
          property: string | null,
        ][];
        for (const [groupId, property] of rows) {
          const value = textOfProperty(property);
          if (value !== undefined) take(groupId, value);
        }
        if (rows.length < stepGroups) return;
        after = rows.at(-1)![0];
        await turns.next();
      }
    },
  };
}
