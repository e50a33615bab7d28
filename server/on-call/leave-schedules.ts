import type { Transaction } from "kysely";
import type { OnCallRotation } from "../schemas/on-call.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { lockOnCall } from "./lock.ts";

/**
 * Takes an account that leaves a project, or becomes a viewer in it, out of the project's rotations and overrides. A
 * rotation without members is removed.
 *
 * Invariant: whoever is on call is a member who may acknowledge alerts. Checked by `server/on-call/on-call.test.ts`.
 */
export async function leaveSchedules(
  transaction: Transaction<ControlTables>,
  projectId: number,
  accountId: string,
): Promise<void> {
  await lockOnCall(transaction);
  const rows = await transaction
    .selectFrom("onCallSchedules")
    .select(["id", "rotations", "notify"])
    .where("projectId", "=", projectId)
    .execute();
  for (const { id, rotations, notify } of rows) {
    const left = (JSON.parse(rotations) as OnCallRotation[])
      .map((rotation) => ({
        ...rotation,
        members: rotation.members.filter((member) => member !== accountId),
      }))
      .filter(({ members }) => members.length > 0);
    await transaction
      .deleteFrom("onCallOverrides")
      .where("scheduleId", "=", id)
      .where("accountId", "=", accountId)
      .execute();
    await transaction
      .updateTable("onCallSchedules")
      .set({ rotations: JSON.stringify(left), dueAt: notify === 1 ? Date.now() : null })
      .where("id", "=", id)
      .execute();
  }
}
