import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

/** Removes an ID from all groups of a project. */
export async function eraseFromGroups(
  control: Kysely<ControlTables>,
  projectId: number,
  userId: string,
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    // Locks the groups of the project, in one order, until the transaction ends.
    await transaction
      .updateTable("userGroupTypes")
      .set((eb) => ({ groupCount: eb.ref("groupCount") }))
      .where("projectId", "=", projectId)
      .execute();
    const groups = await transaction
      .deleteFrom("userGroupMembers")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId)
      .returning(["type", "groupId"])
      .execute();
    for (const { type, groupId } of groups)
      await transaction
        .updateTable("userGroups")
        .set((eb) => ({ memberCount: eb("memberCount", "-", 1), revision: crypto.randomUUID() }))
        .where("projectId", "=", projectId)
        .where("type", "=", type)
        .where("groupId", "=", groupId)
        .execute();
  });
}
