import type { JobContext } from "../background/job-context.ts";
import { printText } from "../event/search.ts";

const deliveryRows = 500;

/** The part of a delivery that is stored besides its event. */
type Told = { rule?: { name: string; q: string }; values?: string[] };

/**
 * Erases what rules that follow each user, or each value of a tag, know of a user: their values, alerts and
 * notifications.
 */
export async function eraseRuleValues(
  { store: { control }, pause }: JobContext,
  projectId: number,
  userId: string,
): Promise<void> {
  await control
    .deleteFrom("ruleValues")
    .where("ruleId", "in", (eb) => eb.selectFrom("rules").select("id").where("projectId", "=", projectId))
    .where((eb) => eb.or([eb("value", "=", userId), eb("groupValue", "=", userId)]))
    .execute();
  await control
    .deleteFrom("alerts")
    .where("projectId", "=", projectId)
    .where((eb) => eb.or([eb("value", "=", userId), eb("groupValue", "=", userId)]))
    .execute();
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
    const ids = rows
      .filter(({ notification }) => isAbout(JSON.parse(notification!), userId))
      .map(({ id }) => id);
    if (ids.length > 0) await control.deleteFrom("deliveries").where("id", "in", ids).execute();
    after = rows.length < deliveryRows ? null : rows.at(-1)!.id;
    await pause();
  }
}

/** Whether a notification is about the user's value or group, or names it among others. */
function isAbout({ rule, values = [] }: Told, userId: string): boolean {
  if (values.includes(userId)) return true;
  return rule?.name.endsWith(`(${userId})`) === true && rule.q.includes(printText(userId));
}
