import { type Kysely, sql } from "kysely";
import type { Event } from "../event/event.ts";
import { limits } from "../limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Notification } from "../wire/notification.ts";
import {
  isOwnerNotice,
  messageOfNotification,
  messageOfOwnerNotice,
  type OwnerNotice,
  type StoredNotification,
  tellsOfEvent,
} from "./notification-message.ts";
import type { RecentEvents } from "./recent-events.ts";

type Control = Kysely<ControlTables>;
export type EventFinder = Pick<RecentEvents, "find">;

/** Literals, so that the planner can use the index of the inbox, which has nothing that was skipped. */
const isInInbox = sql<boolean>`kind = 'dashboard' AND state = 'delivered'`;

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
    .where(isInInbox)
    .orderBy("id", "desc")
    .limit(limit);
}

/** The id of the newest delivery; 0 if there is none. */
export async function newestId(control: Control): Promise<number> {
  const row = await control
    .selectFrom("deliveries")
    .select("id")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? 0;
}

/** The account's notifications in projects of which it is a member: former members don't see events of a project. */
export function selectInbox(control: Control, accountId: string) {
  return control
    .selectFrom("deliveries")
    .innerJoin("projects", "projects.id", "deliveries.projectId")
    .innerJoin("members", (join) =>
      join
        .onRef("members.projectId", "=", "deliveries.projectId")
        .onRef("members.accountId", "=", "deliveries.accountId"),
    )
    .select([
      "deliveries.id",
      "deliveries.eventId",
      "deliveries.notification",
      "deliveries.createdAt",
      "deliveries.readAt",
      "deliveries.projectId",
      "deliveries.ruleId",
      "projects.slug",
      "projects.name",
    ])
    .where("deliveries.accountId", "=", accountId)
    .where(isInInbox)
    .orderBy("deliveries.id", "desc");
}

type InboxRow = Awaited<ReturnType<ReturnType<typeof selectInbox>["execute"]>>[number];

/**
 * An account's notifications, newest first.
 *
 * @param before - the id of the last one on the previous page
 */
export async function listNotifications(
  control: Control,
  events: EventFinder,
  accountId: string,
  limit: number,
  before?: number,
  channel?: string,
): Promise<{ notifications: Notification[]; nextCursor: string | null }> {
  const rows = await selectInbox(control, accountId)
    .$if(before !== undefined, (query) => query.where("deliveries.id", "<", before!))
    .$if(channel !== undefined, (query) => query.where("deliveries.channel", "=", channel!))
    .limit(limit + 1)
    .execute();
  const isEnd = rows.length <= limit;
  const page = rows.slice(0, limit);
  const notifications = await notificationsOf(events, page);
  return { notifications, nextCursor: isEnd ? null : String(page.at(-1)!.id) };
}

/** The newest of an account's notifications after one id, up to another, oldest first. */
export async function notificationsAfter(
  control: Control,
  events: EventFinder,
  accountId: string,
  after: number,
  upTo: number,
  limit: number,
): Promise<Notification[]> {
  const rows = await selectInbox(control, accountId)
    .where("deliveries.id", ">", after)
    .where("deliveries.id", "<=", upTo)
    .limit(limit)
    .execute();
  return notificationsOf(events, rows.reverse());
}

/** Leaves out those that tell of a deleted event. */
export async function notificationsOf(events: EventFinder, rows: InboxRow[]): Promise<Notification[]> {
  const found = await Promise.all(
    rows.map(({ projectId, eventId }) => (eventId === null ? null : events.find(projectId, eventId))),
  );
  return rows.flatMap((row, index) => {
    const stored =
      row.notification === null ? null : (JSON.parse(row.notification) as StoredNotification | OwnerNotice);
    const event = found[index] ?? null;
    if (event === null && tellsOfEvent(stored)) return [];
    const id = String(row.id);
    const createdAt = new Date(row.createdAt).toISOString();
    return [
      {
        id,
        project: row.slug,
        event,
        ...contentOf(row, stored, event),
        createdAt,
        readAt: isoOrNull(row.readAt),
      },
    ];
  });
}

/** What a notification says, and where it leads. */
function contentOf(
  { id, slug, name, ruleId }: InboxRow,
  stored: StoredNotification | OwnerNotice | null,
  event: Event | null,
): Pick<Notification, "type" | "title" | "url"> {
  if (stored === null) {
    return { type: "event", title: event!.name, url: `/p/${slug}/events/${event!.id}` };
  }
  const about = { id: String(id), baseUrl: "", project: { slug, name }, ruleId, urgent: false };
  const { title, url } = isOwnerNotice(stored)
    ? messageOfOwnerNotice(stored, about)
    : messageOfNotification(stored, event, about);
  return { type: stored.type, title, url };
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

export async function markIds(control: Control, accountId: string, ids: number[]): Promise<void> {
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
  if (!event.notify)
    return 'Nobody was notified: the event was sent without "notify", and no other rule matches it.';
  if (Date.now() - Date.parse(event.createdAt) > deliveryDays * 24 * 60 * 60 * 1_000)
    return `The delivery log has expired: it is kept for ${deliveryDays} days.`;
  return "Nobody was notified: the event was more than an hour old when it was sent, or no rule that was on matched it for somebody.";
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
