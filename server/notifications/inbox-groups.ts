import { type Kysely, sql } from "kysely";
import { problem } from "../core/problems.ts";
import type { Notification, NotificationFilter, NotificationGroup } from "../schemas/notification.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type Inbox, type InboxPage, isInInbox, notificationsOf, selectInbox } from "./inbox.ts";

type Control = Kysely<ControlTables>;
/** Notifications of an account that are shown as one. */
type Group = { projectId: number; groupKey: string | null };

/** How many notifications, for each group of a page, are looked at to find the groups, before all are. */
const rowsPerGroup = [4, 40];

/**
 * An account's notifications in groups, the one with the newest notification first. It counts all notifications of each
 * group; an index has everything that this needs.
 *
 * @param page - its cursor is the id of the newest notification of a group
 */
export async function listGroups(
  { control, events, accountId }: Inbox,
  { project, channel }: NotificationFilter,
  { limit, before = Number.MAX_SAFE_INTEGER }: InboxPage,
): Promise<{ groups: NotificationGroup[]; nextCursor: string | null }> {
  const projects = await projectsOf(control, accountId, project);
  if (projects.length === 0) return { groups: [], nextCursor: null };
  const range = { accountId, projects, channel, before };
  const rows = await groupsIn(control, range, limit + 1);
  const page = rows.slice(0, limit);
  const ids = page.map(({ latest }) => Number(latest));
  const latest =
    ids.length === 0 ? [] : await selectInbox(control, accountId).where("deliveries.id", "in", ids).execute();
  const notifications = new Map((await notificationsOf(events, latest)).map((each) => [each.id, each]));
  return {
    groups: page.flatMap(({ projectId, groupKey, latest, count, unread }) => {
      const notification = notifications.get(String(latest));
      // Its event was just deleted.
      if (!notification) return [];
      const id = `${projectId} ${groupKey}`;
      return [{ id, latest: notification, count: Number(count), unread: Number(unread) }];
    }),
    nextCursor: rows.length > limit ? String(ids.at(-1)) : null,
  };
}

/** Whose notifications to group; only groups whose newest notification is before an id. */
type Range = { accountId: string; projects: number[]; channel: string | undefined; before: number };

async function groupsIn(control: Control, range: Range, limit: number) {
  for (const rows of rowsPerGroup) {
    const groups = await newestGroups(control, range, limit, rows * limit);
    if (groups) return groups;
  }
  return countGroups(control, range, limit);
}

/** Counts groups, the one with the newest notification first: all groups, or those that have one of these keys. */
function countGroups(
  control: Control,
  { accountId, projects, channel, before }: Range,
  limit: number,
  keys?: (string | null)[],
) {
  return control
    .selectFrom("deliveries")
    .select((eb) => [
      "projectId",
      "groupKey",
      eb.fn.max<number>("deliveries.id").as("latest"),
      eb.fn.countAll<number>().as("count"),
      sql<number>`sum(CASE WHEN read_at IS NULL THEN 1 ELSE 0 END)`.as("unread"),
    ])
    .where("accountId", "=", accountId)
    .where("projectId", "in", projects)
    .where(isInInbox)
    .$if(channel !== undefined, (query) => query.where("channel", "=", channel!))
    .$if(keys !== undefined, (query) => query.where("groupKey", "in", keys!))
    .groupBy(["projectId", "groupKey"])
    .having((eb) => eb(eb.fn.max("deliveries.id"), "<", before))
    .orderBy("latest", "desc")
    .limit(limit)
    .execute();
}

/**
 * The same, but counts only groups of the newest notifications: the groups of a page are usually among these. Null if
 * they aren't.
 */
async function newestGroups(control: Control, range: Range, limit: number, rows: number) {
  const { accountId, projects, channel, before } = range;
  const newest = await control
    .selectFrom("deliveries")
    .select(["id", "groupKey"])
    .where("accountId", "=", accountId)
    .where("projectId", "in", projects)
    .where(isInInbox)
    .$if(channel !== undefined, (query) => query.where("channel", "=", channel!))
    .where("id", "<", before)
    .orderBy("id", "desc")
    .limit(rows)
    .execute();
  if (newest.length === 0) return [];
  const keys = [...new Set(newest.map(({ groupKey }) => groupKey))];
  const groups = await countGroups(control, range, limit, keys);
  const isEnd = newest.length < rows;
  // An older one can belong to another project, whose groups were not all looked at.
  const isComplete = isEnd || (groups.length === limit && Number(groups.at(-1)!.latest) >= newest.at(-1)!.id);
  return isComplete ? groups : null;
}

/** The notifications of the group that a notification is part of, newest first. */
export async function listGroup(
  { control, events, accountId }: Inbox,
  id: number,
  { limit, before = Number.MAX_SAFE_INTEGER, channel }: InboxPage,
): Promise<{ notifications: Notification[]; nextCursor: string | null }> {
  const { projectId, groupKey } = await groupOf(control, accountId, id);
  const rows = await selectInbox(control, accountId)
    .where("deliveries.projectId", "=", projectId)
    .where("deliveries.groupKey", "=", groupKey)
    .where(isInInbox)
    .$if(channel !== undefined, (query) => query.where("deliveries.channel", "=", channel!))
    .where("deliveries.id", "<", before)
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return {
    notifications: await notificationsOf(events, page),
    nextCursor: rows.length > limit ? String(page.at(-1)!.id) : null,
  };
}

/** Throws `notification-unknown`. */
export async function groupOf(control: Control, accountId: string, id: number): Promise<Group> {
  const row = await control
    .selectFrom("deliveries")
    .select(["projectId", "groupKey"])
    .where("id", "=", id)
    .where("accountId", "=", accountId)
    .where("kind", "=", "dashboard")
    .executeTakeFirst();
  if (!row) throw problem("notification-unknown", { detail: "You have no notification with this ID." });
  return row;
}

/** The account's projects, or the one with a slug: former members don't see events of a project. */
export async function projectsOf(
  control: Control,
  accountId: string,
  slug: string | undefined,
): Promise<number[]> {
  const rows = await control
    .selectFrom("members")
    .innerJoin("projects", "projects.id", "members.projectId")
    .select("members.projectId")
    .where("members.accountId", "=", accountId)
    .$if(slug !== undefined, (query) => query.where("projects.slug", "=", slug!))
    .execute();
  return rows.map(({ projectId }) => projectId);
}
