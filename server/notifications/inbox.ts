import { type Kysely, sql } from "kysely";
import { isoOrNull } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import type { Notification } from "../schemas/notification.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { messageOfNotification, readNotification, tellsOfEvent } from "./notification-message.ts";
import type { RecentEvents } from "./recent-events.ts";

type Control = Kysely<ControlTables>;
type EventFinder = Pick<RecentEvents, "find">;

/** An account's notifications, and where the events are that they tell of. */
export type Inbox = { control: Control; events: EventFinder; accountId: string };
/** Up to so many of a channel or all, newest first, after the id that the page before ended with. */
export type InboxPage = { limit: number; before?: number | undefined; channel?: string | undefined };

/** Literals, so that the planner can use the index of the inbox, which has nothing that was skipped. */
export const isInInbox = sql<boolean>`deliveries.kind = 'dashboard' AND deliveries.state = 'delivered'`;

/** Number of unread notifications among the newest `limits.unreadCount` of an account. */
export async function countUnread(control: Control, accountId: string): Promise<number> {
  // Reads only an index, in its order. An index of unread notifications would cost each event that notifies.
  const newest = control
    .selectFrom("deliveries")
    .select(["deliveries.id", "deliveries.readAt"])
    .where("accountId", "=", accountId)
    .where(isInInbox)
    .orderBy("id", "desc")
    .limit(limits.unreadCount);
  const { count } = await control
    .selectFrom(newest.as("newest"))
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("newest.readAt", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
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

/** An account's notifications, newest first. */
export async function listNotifications(
  { control, events, accountId }: Inbox,
  { limit, before, channel }: InboxPage,
): Promise<{ notifications: Notification[]; nextCursor: string | null }> {
  const rows = await selectInbox(control, accountId)
    .$if(before !== undefined, (query) => query.where("deliveries.id", "<", before!))
    .$if(channel !== undefined, (query) => query.where("deliveries.channel", "=", channel!))
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return {
    notifications: await notificationsOf(events, page),
    nextCursor: rows.length > limit ? String(page.at(-1)!.id) : null,
  };
}

/** The newest of an account's notifications after one id, up to another, oldest first. */
export async function notificationsAfter(
  { control, events, accountId }: Inbox,
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
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
    const stored = readNotification(row.notification);
    const event = found[index] ?? null;
    // Digests by email and reports are in no inbox.
    if (stored.type === "email-digest" || stored.type === "report") return [];
    if (event === null && tellsOfEvent(stored)) return [];
    const { slug, name, ruleId } = row;
    const id = String(row.id);
    const about = { id, baseUrl: "", project: { slug, name }, ruleId, urgent: false };
    const { title, url } = messageOfNotification(stored, { event, newest: [] }, about);
    const createdAt = new Date(row.createdAt).toISOString();
    return [
      {
        id,
        project: row.slug,
        event,
        type: stored.type,
        title,
        url,
        createdAt,
        readAt: isoOrNull(row.readAt),
      },
    ];
  });
}
