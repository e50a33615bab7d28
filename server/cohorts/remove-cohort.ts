import type { Pause } from "../storage/event-store.ts";
import type { Store } from "../storage/store.ts";

/** Members that are removed in one commit. */
const stepRows = 500;

/** Removes a cohort with its members, in small steps. */
export async function removeCohort(
  { control, together }: Pick<Store, "control" | "together">,
  id: string,
  pause: Pause,
): Promise<void> {
  for (;;) {
    const rows = await control
      .selectFrom("cohortMembers")
      .select("userId")
      .where("cohortId", "=", id)
      .orderBy("userId")
      .limit(stepRows)
      .execute();
    const userIds = rows.map(({ userId }) => userId);
    if (userIds.length > 0)
      await together("control", async (transaction) => {
        await transaction
          .deleteFrom("cohortMembers")
          .where("cohortId", "=", id)
          .where("userId", "in", userIds)
          .execute();
      });
    if (rows.length < stepRows) break;
    await pause();
  }
  await control.deleteFrom("cohorts").where("id", "=", id).execute();
}
