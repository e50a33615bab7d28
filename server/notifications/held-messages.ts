import type { Insertable, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { defaultSettings, emailDueMs } from "./apply-preferences.ts";
import { type HeldMessages, hourOf, type MessageHour } from "./hourly-limit.ts";
import { formatTime } from "./message.ts";
import { deliveryTo } from "./new-delivery.ts";
import type { MemberNotice } from "./notification-message.ts";
import { ProjectPreferences } from "./preferences.ts";

/** Hours that are ended in one transaction. */
const hoursMax = 200;

/** Tells the destinations whose hour is over how many messages were held back. Returns whether these were all. */
export async function tellHeldMessages(
  transaction: Transaction<ControlTables>,
  nowMs: number,
): Promise<boolean> {
  const rows = await transaction
    .selectFrom("messageHours")
    .selectAll()
    .where("dueAt", "<=", nowMs)
    .orderBy("dueAt")
    .limit(hoursMax)
    .execute();
  const ended = rows.map((row) => ({ destinationId: row.destinationId, hour: hourOf(row) }));
  const deliveries = await noticesOf(transaction, ended, nowMs);
  if (deliveries.length > 0) await transaction.insertInto("deliveries").values(deliveries).execute();
  for (const { destinationId } of ended)
    await transaction.deleteFrom("messageHours").where("destinationId", "=", destinationId).execute();
  return rows.length < hoursMax;
}

/** The deliveries that tell of messages that were held back in hours that are over. */
export async function noticesOf(
  transaction: Transaction<ControlTables>,
  ended: readonly { destinationId: string; hour: MessageHour }[],
  nowMs: number,
): Promise<Insertable<ControlTables["deliveries"]>[]> {
  const deliveries: Insertable<ControlTables["deliveries"]>[] = [];
  for (const { destinationId, hour } of ended) {
    const destination = await transaction
      .selectFrom("destinations")
      .select(["id", "kind", "name", "accountId", "projectId", "hourlyLimit"])
      .where("id", "=", destinationId)
      .where("enabled", "=", 1)
      .executeTakeFirst();
    if (!destination) continue;
    const { accountId, projectId, name } = destination;
    const own = projectId === null ? await projectsOf(transaction, accountId!) : [projectId];
    const held = hour.held
      .filter((each) => each.count > 0 && own.includes(each.projectId))
      .sort((one, other) => other.count - one.count);
    if (held.length === 0) continue;
    const settings =
      accountId === null
        ? defaultSettings
        : ((await ProjectPreferences.read(transaction, [held[0]!.projectId])).of(
            held[0]!.projectId,
            accountId,
          ) ?? defaultSettings);
    const notice = noticeOf({ ...destination, accountId }, held, hour, settings.timeZone, nowMs);
    const recipient = { ...destination, label: name };
    // An account's is listed in the project that had most of them.
    const content = { projectId: held[0]!.projectId, notification: JSON.stringify(notice) };
    const delivery = deliveryTo(recipient, content, nowMs);
    deliveries.push({ ...delivery, nextAttemptAt: emailDueMs({ ...settings, emailDigest: null }, nowMs) });
  }
  return deliveries;
}

async function projectsOf(transaction: Transaction<ControlTables>, accountId: string): Promise<number[]> {
  const rows = await transaction
    .selectFrom("members")
    .select("projectId")
    .where("accountId", "=", accountId)
    .execute();
  return rows.map(({ projectId }) => projectId);
}

type Destination = { id: string; name: string; accountId: string | null; hourlyLimit: number | null };

/** @param held - the rules with most of them first */
function noticeOf(
  { id, name, accountId, hourlyLimit }: Destination,
  held: readonly HeldMessages[],
  { heldSince }: MessageHour,
  timeZone: string,
  nowMs: number,
): MemberNotice {
  const count = held.reduce((sum, each) => sum + each.count, 0);
  const since = formatTime(new Date(heldSince ?? nowMs).toISOString(), timeZone);
  const listed = held
    .slice(0, limits.heldRules)
    .map((each) => `${numberOf(each.count)} ${each.rule ? `of "${each.rule.name}"` : "of no rule"}`);
  const others = held.slice(limits.heldRules).reduce((sum, each) => sum + each.count, 0);
  const parts = [...listed, ...(others > 0 ? [`${numberOf(others)} of other rules`] : [])].join(", ");
  const limit =
    hourlyLimit === null ? "had a limit of messages" : `gets at most ${numberOf(hourlyLimit)} in an hour`;
  return {
    type: "messages-held",
    atMs: nowMs,
    title: `${numberOf(count)} ${count === 1 ? "message was" : "messages were"} held back`,
    detail: `They came since ${since}: ${parts}. ${name} ${limit}.`,
    destination: { id, name },
    accountId,
  };
}

function numberOf(count: number): string {
  return count.toLocaleString("en");
}
