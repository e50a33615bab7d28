import type { Kysely } from "kysely";
import type { NotificationFilter } from "../schemas/notification.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { isInInbox } from "./inbox.ts";
import { groupOf, projectsOf } from "./inbox-groups.ts";

type Control = Kysely<ControlTables>;

/** Notifications marked as read in one commit, which events wait for. */
const markedMax = 500;

/** Marks an account's notifications as read: those in `ids`, or all. */
export async function markRead(control: Control, accountId: string, ids?: string[]): Promise<void> {
  if (!ids) return markMatching(control, accountId, (query) => query);
  // Other texts can't be ids.
  const numbers = ids.filter((id) => /^\d{1,15}$/.test(id)).map(Number);
  if (numbers.length > 0) await markIds(control, accountId, numbers);
}

/** Marks a notification and all older ones of its group as read. Those that came later have not been seen. */
export async function markGroupRead(control: Control, accountId: string, id: number): Promise<void> {
  const group = await groupOf(control, accountId, id);
  await markMatching(control, accountId, (query) =>
    query
      .where("projectId", "=", group.projectId)
      .where("groupKey", "=", group.groupKey)
      .where("id", "<=", id),
  );
}

/** Marks the notifications of a project, or of one of its channels, as read. */
export async function markFilterRead(
  control: Control,
  accountId: string,
  { project, channel }: NotificationFilter,
): Promise<void> {
  const projects = await projectsOf(control, accountId, project);
  if (projects.length === 0) return;
  await markMatching(control, accountId, (query) =>
    query
      .where("projectId", "in", projects)
      .$if(channel !== undefined, (narrowed) => narrowed.where("channel", "=", channel!)),
  );
}

function unreadOf(control: Control, accountId: string) {
  return control
    .selectFrom("deliveries")
    .select("id")
    .where("accountId", "=", accountId)
    .where(isInInbox)
    .where("readAt", "is", null)
    .orderBy("id", "desc")
    .limit(markedMax);
}

async function markMatching(
  control: Control,
  accountId: string,
  narrow: (query: ReturnType<typeof unreadOf>) => ReturnType<typeof unreadOf>,
): Promise<void> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await narrow(unreadOf(control, accountId)).where("id", "<", before).execute();
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await markIds(control, accountId, ids);
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
