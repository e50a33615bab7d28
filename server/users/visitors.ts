import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

const prefix = "visitor-";

/** The user's ID of a visitor whom the page doesn't name. */
export function userIdOfVisitor(visitor: string): string {
  return prefix + visitor;
}

/** Erases the visit of a visitor, which names them. */
export async function eraseVisit(
  control: Kysely<ControlTables>,
  projectId: number,
  userId: string,
): Promise<void> {
  if (!userId.startsWith(prefix)) return;
  await control
    .deleteFrom("websiteVisits")
    .where("projectId", "=", projectId)
    .where("visitor", "=", userId.slice(prefix.length))
    .execute();
}
