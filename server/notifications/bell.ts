import type { Kysely } from "kysely";
import type { LiveStreams } from "../events/live.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival, EventStore } from "../storage/store.ts";
import type { Event } from "../wire/event.ts";
import type { Delivery, Notification } from "../wire/notification.ts";

type Control = Kysely<ControlTables>;

/** How many notifications an account has not read. */
export async function countUnread(control: Control, accountId: string): Promise<number> {
  const { count } = await control
    .selectFrom("deliveries")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("accountId", "=", accountId)
    .where("kind", "=", "dashboard")
    .where("readAt", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
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
  await control
    .updateTable("deliveries")
    .set({ readAt: Date.now() })
    .where("accountId", "=", accountId)
    .where("kind", "=", "dashboard")
    .where("readAt", "is", null)
    .$if(numbers !== undefined, (query) => query.where("id", "in", numbers!))
    .execute();
}

/** Rings at the members who have the dashboard open. */
export async function ring(
  control: Control,
  live: LiveStreams,
  { event, projectId }: Arrival,
): Promise<void> {
  const rows = await control
    .selectFrom("deliveries")
    .innerJoin("projects", "projects.id", "deliveries.projectId")
    .select(["deliveries.id", "deliveries.accountId", "projects.slug"])
    .where("deliveries.eventId", "=", event.id)
    .where("deliveries.projectId", "=", projectId)
    .where("deliveries.kind", "=", "dashboard")
    .execute();
  for (const { id, accountId, slug } of rows) {
    if (!live.hears(accountId)) continue;
    const notification: Notification = {
      id: String(id),
      project: slug,
      event,
      readAt: null,
    };
    live.tellAccount(accountId, "notification", {
      notification,
      unread: await countUnread(control, accountId),
    });
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

/** Why nobody was notified of an event, as a sentence. */
export function whySilent(event: Event): string {
  if (!event.notify) return 'Nobody was notified: the event was sent without "notify".';
  return "Nobody was notified: the event was sent with a createdAt that lay more than an hour back, or the project had no members then.";
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
