import type { MsRange } from "../block.ts";
import type { Cut } from "../postgres/older.ts";

/** SQL for a project's events of some time, in blocks that can be read. */
export function withinSql(
  { block }: Pick<Cut, "block">,
  projectId: number,
  { fromMs, toMs }: MsRange,
): string {
  return `project = ${projectId} AND block <= ${block} AND created >= ${fromMs} AND created < ${toMs}`;
}
