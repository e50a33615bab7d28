import type { JobContext } from "../background/job-context.ts";

const deliveryRows = 500;

/**
 * Erases what rules that follow each user, or each value of a tag, know of a user: their values, alerts and
 * notifications.
 */
export async function eraseRuleValues(
  { store: { control }, pause }: JobContext,
  projectId: number,
  userId: string,
): Promise<void> {
  const rules = await control
    .selectFrom("rules")
    .select("id")
    .where("projectId", "=", projectId)
    .where("forEach", "is not", null)
    .execute();
  if (rules.length > 0)
    await control
      .deleteFrom("ruleValues")
      .where(
        "ruleId",
        "in",
        rules.map(({ id }) => id),
      )
      .where("value", "=", userId)
      .execute();
  await control.deleteFrom("alerts").where("projectId", "=", projectId).where("value", "=", userId).execute();
  const written = JSON.stringify(userId).slice(1, -1);
  for (let after: number | null = 0; after !== null; ) {
    const rows: { id: number; notification: string | null }[] = await control
      .selectFrom("deliveries")
      .select(["id", "notification"])
      .where("projectId", "=", projectId)
      .where("id", ">", after)
      .where("notification", "is not", null)
      .orderBy("id")
      .limit(deliveryRows)
      .execute();
    const ids = rows.filter(({ notification }) => notification!.includes(written)).map(({ id }) => id);
    if (ids.length > 0) await control.deleteFrom("deliveries").where("id", "in", ids).execute();
    after = rows.length < deliveryRows ? null : rows.at(-1)!.id;
    await pause();
  }
}
