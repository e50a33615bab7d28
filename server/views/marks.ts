import type { Kysely, Transaction } from "kysely";
import { msOf } from "../event/event-query.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SeenMarks, SeenResponse } from "../wire/view.ts";
import type { Viewer } from "./views.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** The clocks of clients may be this far ahead. */
const clockSkewMs = 5 * 60_000;

/** Until when a member has read a project's channels and views, and which channels are pinned. */
export async function findMarks(control: Control, { projectId, account }: Viewer) {
  const [member, channels, views] = await Promise.all([
    control
      .selectFrom("members")
      .select("createdAt")
      .where("projectId", "=", projectId)
      .where("accountId", "=", account.id)
      .executeTakeFirst(),
    control
      .selectFrom("channelMarks")
      .select(["channel", "seenAt", "pin"])
      .where("projectId", "=", projectId)
      .where("accountId", "=", account.id)
      .execute(),
    control
      .selectFrom("viewMarks")
      .innerJoin("views", "views.id", "viewMarks.viewId")
      .select(["viewMarks.viewId", "viewMarks.seenAt"])
      .where("views.projectId", "=", projectId)
      .where("viewMarks.accountId", "=", account.id)
      .execute(),
  ]);
  return {
    joinedAt: member?.createdAt ?? Date.now(),
    channels: new Map(channels.map((mark) => [mark.channel, mark])),
    views: new Map(views.map(({ viewId, seenAt }) => [viewId, seenAt])),
  };
}

/**
 * Marks channels and views as read; unknown ones are left out. Without a time, a mark never moves back. Returns the
 * marks before.
 */
export async function markSeen(
  transaction: Transaction<ControlTables>,
  viewer: Viewer,
  { channels, views }: SeenMarks,
): Promise<Omit<SeenResponse, "ok">> {
  const { projectId, account } = viewer;
  const marks = await findMarks(transaction, viewer);
  const now = Date.now();
  const latest = now + clockSkewMs;
  const timeOf = (asked: string | undefined, before: number, newest: number | null) =>
    asked === undefined
      ? Math.max(now - 1, before, Math.min(newest ?? 0, latest))
      : Math.min(msOf(asked), latest);
  const newest = await transaction
    .selectFrom("channels")
    .select(["name", "lastEventAt"])
    .where("projectId", "=", projectId)
    .execute();
  const before: Omit<SeenResponse, "ok"> = { channels: [], views: [] };
  const newestOf = new Map(newest.map(({ name, lastEventAt }) => [name, lastEventAt]));

  const channelRows = [...new Map(channels.map((each) => [each.name, each])).values()]
    .filter(({ name }) => newestOf.has(name))
    .map(({ name, seenAt }) => {
      const earlier = marks.channels.get(name)?.seenAt ?? marks.joinedAt;
      before.channels.push({ name, seenAt: iso(earlier) });
      return {
        projectId,
        accountId: account.id,
        channel: name,
        seenAt: timeOf(seenAt, earlier, newestOf.get(name)!),
        pin: null,
      };
    });
  if (channelRows.length > 0) {
    await transaction
      .insertInto("channelMarks")
      .values(channelRows)
      .onConflict((conflict) =>
        conflict
          .columns(["projectId", "accountId", "channel"])
          .doUpdateSet(({ ref }) => ({ seenAt: ref("excluded.seenAt") })),
      )
      .execute();
  }

  const known =
    views.length === 0
      ? []
      : await transaction
          .selectFrom("views")
          .select(["id", "createdAt"])
          .where("projectId", "=", projectId)
          .where((eb) => eb.or([eb("accountId", "is", null), eb("accountId", "=", account.id)]))
          .where(
            "id",
            "in",
            views.map(({ id }) => id),
          )
          .execute();
  const viewRows = known.map(({ id, createdAt }) => {
    const earlier = marks.views.get(id) ?? Math.max(createdAt, marks.joinedAt);
    before.views.push({ id, seenAt: iso(earlier) });
    const asked = views.findLast((each) => each.id === id)?.seenAt;
    return {
      viewId: id,
      accountId: account.id,
      seenAt: timeOf(asked, earlier, Math.max(0, ...newest.map(({ lastEventAt }) => lastEventAt ?? 0))),
    };
  });
  if (viewRows.length > 0) {
    await transaction
      .insertInto("viewMarks")
      .values(viewRows)
      .onConflict((conflict) =>
        conflict
          .columns(["viewId", "accountId"])
          .doUpdateSet(({ ref }) => ({ seenAt: ref("excluded.seenAt") })),
      )
      .execute();
  }
  return before;
}

/** Pins these channels of the project, in this order, and no others. Throws `channel-unknown`. */
export async function setPins(
  transaction: Transaction<ControlTables>,
  { projectId, account }: Viewer,
  names: readonly string[],
): Promise<void> {
  const mine = transaction
    .updateTable("channelMarks")
    .where("projectId", "=", projectId)
    .where("accountId", "=", account.id);
  await mine.set({ pin: null }).execute();
  if (names.length === 0) return;
  const known = await transaction
    .selectFrom("channels")
    .select("name")
    .where("projectId", "=", projectId)
    .where("name", "in", names)
    .execute();
  if (known.length < names.length)
    throw problem("channel-unknown", { detail: "This project has no channel with one of these names." });
  await transaction
    .insertInto("channelMarks")
    .values(
      names.slice(0, limits.pins).map((channel, pin) => ({
        projectId,
        accountId: account.id,
        channel,
        seenAt: null,
        pin,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(["projectId", "accountId", "channel"])
        .doUpdateSet(({ ref }) => ({ pin: ref("excluded.pin") })),
    )
    .execute();
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
