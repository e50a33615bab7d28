import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventStore } from "../storage/store.ts";
import type { Event } from "../wire/event.ts";
import { limits } from "../wire/limits.ts";
import type { Delivery, Notification } from "../wire/notification.ts";

type Control = Kysely<ControlTables>;

/** Notifications that are marked as read in one commit: events wait for it. */
const markedMax = 500;

/** How many notifications an account has not read, up to `limits.unreadCount`. */
export async function countUnread(control: Control, accountId: string): Promise<number> {
  const { count } = await control
    .selectFrom(unread(control, accountId).limit(limits.unreadCount).as("unread"))
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

function unread(control: Control, accountId: string) {
  return control
    .selectFrom("deliveries")
    .select("deliveries.id")
    .where("accountId", "=", accountId)
    .where("kind", "=", "dashboard")
    .where("readAt", "is", null);
}

/**
 * An account's notifications, newest first.
 *
 * @param before - the id of the last one on the page before
 */
export async function listNotifications(
  control: Control,
  events: EventStore,
  accountId: string,
  limit: number,
  before?: number,
): Promise<{ notifications: Notification[]; nextCursor: string | null }> {
  const rows = await control
    .selectFrom("deliveries")
    .innerJoin("projects", "projects.id", "deliveries.projectId")
    // A member who left sees nothing more of the project.
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
  const found = await Promise.all(page.map((row) => events.find(row.projectId, row.eventId)));
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

/** Marks notifications as read: those with the ids, or all. */
export async function markRead(control: Control, accountId: string, ids?: string[]): Promise<void> {
  // Other texts are no notification's id.
  const numbers = ids?.filter((id) => /^\d{1,15}$/.test(id)).map(Number);
  if (numbers?.length === 0) return;
  const readAt = Date.now();
  for (;;) {
    const some = unread(control, accountId)
      .$if(numbers !== undefined, (query) => query.where("id", "in", numbers!))
      .limit(markedMax);
    const { numUpdatedRows } = await control
      .updateTable("deliveries")
      .set({ readAt })
      .where("id", "in", some)
      .executeTakeFirst();
    if (numUpdatedRows < markedMax) return;
  }
}

/** Who was notified of an event, how and when. */
export async function listDeliveries(
  control: Control,
  projectId: number,
  eventId: string,
): Promise<Delivery[]> {
  const rows = await control
    .selectFrom("deliveries")
    .innerJoin("accounts", "accounts.id", "deliveries.accountId")
    .selectAll("deliveries")
    .select("accounts.name as account")
    .where("deliveries.projectId", "=", projectId)
    .where("deliveries.eventId", "=", eventId)
    .orderBy("deliveries.id")
    .execute();
  return rows.map((row) => ({
    id: String(row.id),
    kind: row.kind,
    label: row.label,
    account: row.account,
    state: row.state,
    attempts: row.attempts,
    detail: row.detail,
    createdAt: new Date(row.createdAt).toISOString(),
    deliveredAt: isoOrNull(row.deliveredAt),
    nextAttemptAt: isoOrNull(row.nextAttemptAt),
    readAt: isoOrNull(row.readAt),
  }));
}

/** Why an event has no deliveries, as a sentence. */
export function whySilent(event: Event): string {
  if (!event.notify) return 'Nobody was notified: the event was sent without "notify".';
  if (Date.now() - Date.parse(event.createdAt) > limits.deliveryDays * 24 * 60 * 60 * 1_000)
    return `Who was notified is not known any more: deliveries are kept for ${limits.deliveryDays} days.`;
  return "Nobody was notified: the event was sent with a createdAt that lay more than an hour back, or the project had no members then.";
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
