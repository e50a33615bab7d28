import type { Kysely, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { isCollected } from "./destinations.ts";
import { type DigestItem, formatShortTime, type Message } from "./message.ts";
import {
  messageOfNotification,
  type Notification,
  readNotification,
  tellsOfEvent,
} from "./notification-message.ts";

type Control = Kysely<ControlTables>;

/** Digests made in one transaction, which events may wait for. */
const digestsPerStep = 10;

/** When the next digest by email is due, in milliseconds since 1970; null if nothing was collected. */
export async function nextDigestAt(control: Control): Promise<number | null> {
  const row = await control
    .selectFrom("deliveries")
    .select("nextAttemptAt")
    .where(isCollected)
    .orderBy("nextAttemptAt")
    .limit(1)
    .executeTakeFirst();
  return row?.nextAttemptAt ?? null;
}

/**
 * Makes the deliveries of digests that are due: one for each destination and project. Returns whether these were
 * all.
 *
 * Invariant: a digest by email stores no texts. Its delivery is made in the transaction that makes the collected ones
 * part of it, and reads their events when it is sent. Checked by `server/notifications/email-digest.test.ts` and
 * `server/notifications/preferences.test.ts`.
 */
export async function makeEmailDigests(
  transaction: Transaction<ControlTables>,
  nowMs: number,
): Promise<boolean> {
  for (let made = 0; made < digestsPerStep; made++) {
    const first = await transaction
      .selectFrom("deliveries")
      .select(["projectId", "accountId", "destinationId", "kind", "label"])
      .where(isCollected)
      .where("nextAttemptAt", "<=", nowMs)
      .orderBy("nextAttemptAt")
      .orderBy("id")
      .limit(1)
      .executeTakeFirst();
    if (!first) return true;
    const collected = await transaction
      .selectFrom("deliveries")
      .select(["id", "createdAt"])
      .where(isCollected)
      .where("nextAttemptAt", "<=", nowMs)
      .where("projectId", "=", first.projectId)
      .where("destinationId", "=", first.destinationId)
      .orderBy("id")
      .limit(limits.emailDigestDeliveries)
      .execute();
    const fromMs = Math.min(...collected.map(({ createdAt }) => createdAt));
    const stored: Notification = { type: "email-digest", fromMs, atMs: nowMs };
    const { id } = await transaction
      .insertInto("deliveries")
      .values({
        ...first,
        notification: JSON.stringify(stored),
        state: "waiting",
        createdAt: nowMs,
        nextAttemptAt: nowMs,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    await transaction
      .updateTable("deliveries")
      .set({ digestId: id, nextAttemptAt: null })
      .where(
        "id",
        "in",
        collected.map((delivery) => delivery.id),
      )
      .where(isCollected)
      .execute();
  }
  return false;
}

type About = Pick<Message, "id" | "project"> & {
  digestId: number;
  timeZone: string;
  baseUrl: string;
};

/** The message of a digest, or null if all that was collected has been deleted. Reads the newest only. */
export async function messageOfEmailDigest(
  control: Control,
  eventOf: (row: { projectId: number; eventId: string | null; createdAt: number }) => Promise<Event | null>,
  { atMs }: Extract<Notification, { type: "email-digest" }>,
  { id, digestId, project, timeZone, baseUrl }: About,
): Promise<Message | null> {
  const { count } = await control
    .selectFrom("deliveries")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("digestId", "=", digestId)
    .executeTakeFirstOrThrow();
  const rows = await control
    .selectFrom("deliveries")
    .select(["id", "projectId", "eventId", "ruleId", "notification", "createdAt"])
    .where("digestId", "=", digestId)
    .orderBy("id", "desc")
    .limit(limits.emailDigestItems)
    .execute();
  const items: DigestItem[] = [];
  for (const row of rows) {
    const event = await eventOf(row);
    const stored = readNotification(row.notification);
    if (stored.type === "email-digest" || stored.type === "report" || (!event && tellsOfEvent(stored)))
      continue;
    const about = { id: String(row.id), baseUrl, project, ruleId: row.ruleId, urgent: false };
    const { title, url } = messageOfNotification(stored, { event, newest: [] }, about);
    items.push({
      title,
      url,
      about: stored.type === "event" ? [event!.channelId, event!.userId].filter(Boolean).join(" · ") : "",
      at: formatShortTime(row.createdAt, timeZone),
    });
  }
  if (items.length === 0) return null;
  const grouped = groupItems(items);
  return {
    id,
    type: "email-digest",
    title: `${Number(count).toLocaleString("en")} ${Number(count) === 1 ? "notification" : "notifications"}`,
    icon: null,
    text: null,
    fields: [],
    url: `${baseUrl}/notifications`,
    project,
    rule: null,
    matches: null,
    event: null,
    newest: [],
    thread: null,
    createdAt: new Date(atMs).toISOString(),
    urgent: false,
    digest: { items: grouped, others: Number(count) - items.length, at: formatShortTime(atMs, timeZone) },
  };
}

/** Items that say the same are one, with their number and the newest of their times. */
function groupItems(items: readonly DigestItem[]): DigestItem[] {
  const groups = Map.groupBy(items, ({ title, about }) => `${title}\n${about}`);
  return [...groups.values()].map(([newest, ...others]) =>
    others.length === 0 ? newest! : { ...newest!, title: `${newest!.title} × ${others.length + 1}` },
  );
}
