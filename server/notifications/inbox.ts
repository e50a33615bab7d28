import type { Kysely } from "kysely";
import type { Event } from "../event/event.ts";
import { limits } from "../limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventReader } from "../storage/store.ts";
import type { Notification } from "../wire/notification.ts";

type Control = Kysely<ControlTables>;

/** Notifications marked as read in one commit, which events wait for. */
const markedMax = 500;

/** Number of unread notifications among the newest `limits.unreadCount` of an account. */
export async function countUnread(control: Control, accountId: string): Promise<number> {
  const { count } = await control
    .selectFrom(newest(control, accountId, limits.unreadCount).as("newest"))
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("newest.readAt", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Reads only an index, in its order. An index of unread notifications would cost each event that notifies. */
function newest(control: Control, accountId: string, limit: number) {
  return control
    .selectFrom("deliveries")
    .select(["deliveries.id", "deliveries.readAt"])
    .where("accountId", "=", accountId)
    .where("kind", "=", "dashboard")
    .orderBy("id", "desc")
    .limit(limit);
}

/**
 * An account's notifications, newest first.
 *
 * @param before - the id of the last one on the previous page
 */
export async function listNotifications(
  control: Control,
  events: EventReader,
  accountId: string,
  limit: number,
  before?: number,
): Promise<{ notifications: Notification[]; nextCursor: string | null }> {
  const rows = await control
    .selectFrom("deliveries")
    .innerJoin("projects", "projects.id", "deliveries.projectId")
    // Former members don't see events of the project.
    .innerJoin("members", (join) =>
      join
        .onRef("members.projectId", "=", "deliveries.projectId")
        .onRef("members.accountId", "=", "deliveries.accountId"),
    )
    .select([
      "deliveries.id",
      "deliveries.eventId",
      "deliveries.readAt",
      "deliveries.projectId",
      "projects.slug",
    ])
    .where("deliveries.accountId", "=", accountId)
    .where("deliveries.kind", "=", "dashboard")
    .$if(before !== undefined, (query) => query.where("deliveries.id", "<", before!))
    .orderBy("deliveries.id", "desc")
    .limit(limit + 1)
    .execute();
  const isEnd = rows.length <= limit;
  const page = rows.slice(0, limit);
  const found = await Promise.all(
    page.map((row) => (row.eventId === null ? null : events.find(row.projectId, row.eventId))),
  );
  const notifications = page.flatMap((row, index) => {
    const json = found[index];
    if (!json) return [];
    return [
      {
        id: String(row.id),
        project: row.slug,
        event: JSON.parse(json) as Event,
        readAt: isoOrNull(row.readAt),
      },
    ];
  });
  return { notifications, nextCursor: isEnd ? null : String(page.at(-1)!.id) };
}

/** Marks notifications as read: those in `ids`, or all. */
export async function markRead(control: Control, accountId: string, ids?: string[]): Promise<void> {
  // Other texts can't be ids.
  const numbers = ids?.filter((id) => /^\d{1,15}$/.test(id)).map(Number);
  if (numbers?.length === 0) return;
  if (numbers) return markIds(control, accountId, numbers);
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await newest(control, accountId, markedMax).where("id", "<", before).execute();
    const unread = rows.filter(({ readAt }) => readAt === null);
    if (unread.length > 0) {
      await markIds(
        control,
        accountId,
        unread.map(({ id }) => id),
      );
    }
    if (rows.length < markedMax) return;
    before = rows.at(-1)!.id;
  }
}

async function markIds(control: Control, accountId: string, ids: number[]): Promise<void> {
  await control
    .updateTable("deliveries")
    .set({ readAt: Date.now() })
    .where("id", "in", ids)
    .where("accountId", "=", accountId)
    .where("kind", "=", "dashboard")
    .where("readAt", "is", null)
    .execute();
}

/** Whether the deliveries of an event are still to be made. */
export async function isInOutbox(control: Control, projectId: number, eventId: string): Promise<boolean> {
  const entry = await control
    .selectFrom("outbox")
    .select("id")
    .where("eventId", "=", eventId)
    .where("projectId", "=", projectId)
    .executeTakeFirst();
  return entry !== undefined;
}

/** Why an event has no deliveries, as a sentence. */
export function explainNoDelivery(event: Event, deliveryDays: number): string {
  if (!event.notify) return 'Nobody was notified: the event was sent without "notify".';
  if (Date.now() - Date.parse(event.createdAt) > deliveryDays * 24 * 60 * 60 * 1_000)
    return `The delivery log has expired: it is kept for ${deliveryDays} days.`;
  return "Nobody was notified: the event was more than an hour old when it was sent, or the project had no members.";
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
