import type { Kysely, Transaction } from "kysely";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { msOf } from "../event/event-query.ts";
import type { PinsResponse, SeenMarks, SeenMessage, SeenResponse } from "../schemas/view.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Viewer } from "./views.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

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
  const marks = await findMarks(transaction, viewer);
  const rows = await transaction
    .selectFrom("channels")
    .select("name")
    .where("projectId", "=", viewer.projectId)
    .execute();
  return {
    channels: await markChannels(transaction, viewer, channels, {
      marks,
      names: new Set(rows.map(({ name }) => name)),
    }),
    views: await markViews(transaction, viewer, views, marks),
  };
}

/** Names and IDs of a message: more would not fit into one. */
const messageCharactersMax = 1_500;

/**
 * The message about marks to the account's streams.
 *
 * @param marked - the response: those that are known
 */
export function seenMessage(asked: SeenMarks, marked: Omit<SeenResponse, "ok">): SeenMessage {
  const [timedNames, timedIds] = [
    new Set(asked.channels.flatMap(({ name, seenAt }) => (seenAt === undefined ? [] : [name]))),
    new Set(asked.views.flatMap(({ id, seenAt }) => (seenAt === undefined ? [] : [id]))),
  ];
  const channels = marked.channels.map(({ name }) => name).filter((name) => !timedNames.has(name));
  const views = marked.views.map(({ id }) => id).filter((id) => !timedIds.has(id));
  if ([...channels, ...views].join().length > messageCharactersMax)
    return { channels: [], views: [], reload: true };
  return { channels, views, reload: timedNames.size + timedIds.size > 0 };
}

type Marks = Awaited<ReturnType<typeof findMarks>>;

async function markChannels(
  transaction: Transaction<ControlTables>,
  { projectId, account }: Viewer,
  asked: SeenMarks["channels"],
  { marks, names }: { marks: Marks; names: ReadonlySet<string> },
): Promise<SeenResponse["channels"]> {
  const known = [...new Map(asked.map((each) => [each.name, each])).values()].filter(({ name }) =>
    names.has(name),
  );
  const earlierOf = (name: string) => marks.channels.get(name)?.seenAt ?? marks.joinedAt;
  if (known.length > 0) {
    await transaction
      .insertInto("channelMarks")
      .values(
        known.map(({ name, seenAt }) => ({
          projectId,
          accountId: account.id,
          channel: name,
          seenAt: markOf(seenAt, earlierOf(name)),
          pin: null,
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["projectId", "accountId", "channel"])
          .doUpdateSet(({ ref }) => ({ seenAt: ref("excluded.seenAt") })),
      )
      .execute();
  }
  return known.map(({ name }) => ({ name, seenAt: iso(earlierOf(name)) }));
}

async function markViews(
  transaction: Transaction<ControlTables>,
  { projectId, account }: Viewer,
  asked: SeenMarks["views"],
  marks: Marks,
): Promise<SeenResponse["views"]> {
  if (asked.length === 0) return [];
  const askedOf = new Map(asked.map((each) => [each.id, each]));
  const known = await transaction
    .selectFrom("views")
    .select(["id", "createdAt"])
    .where("projectId", "=", projectId)
    .where((eb) => eb.or([eb("accountId", "is", null), eb("accountId", "=", account.id)]))
    .where("id", "in", [...askedOf.keys()])
    .execute();
  const views = known.map(({ id, createdAt }) => ({
    id,
    earlier: marks.views.get(id) ?? Math.max(createdAt, marks.joinedAt),
  }));
  if (views.length > 0) {
    await transaction
      .insertInto("viewMarks")
      .values(
        views.map(({ id, earlier }) => ({
          viewId: id,
          accountId: account.id,
          seenAt: markOf(askedOf.get(id)?.seenAt, earlier),
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["viewId", "accountId"])
          .doUpdateSet(({ ref }) => ({ seenAt: ref("excluded.seenAt") })),
      )
      .execute();
  }
  return views.map(({ id, earlier }) => ({ id, seenAt: iso(earlier) }));
}

/**
 * The new mark: the time that was asked for, or now and not before the earlier mark. Never in the future, because marks
 * are compared with arrivals.
 */
function markOf(asked: string | undefined, earlier: number): number {
  const now = Date.now();
  return asked === undefined ? Math.max(now, earlier) : Math.min(msOf(asked), now);
}

/** The channels that a member has pinned, in their order, and their version. */
export function pinsOf(marks: Pick<Marks, "channels">): Pick<PinsResponse, "channels" | "version"> {
  const channels = [...marks.channels.values()]
    .filter(({ pin }) => pin !== null)
    .sort((a, b) => a.pin! - b.pin!)
    .map(({ channel }) => channel);
  return { channels, version: versionOf(channels) };
}

/**
 * Pins these channels of the project, in this order, and no others. Throws `channel-unknown`, and `changed-meanwhile`
 * if others were pinned than those that are replaced.
 */
export async function setPins(
  transaction: Transaction<ControlTables>,
  viewer: Viewer,
  names: readonly string[],
  ifMatch: IfMatch,
): Promise<Pick<PinsResponse, "channels" | "version">> {
  const { projectId, account } = viewer;
  await withLock(transaction, "views");
  checkVersion(ifMatch, pinsOf(await findMarks(transaction, viewer)));
  const mine = transaction
    .updateTable("channelMarks")
    .where("projectId", "=", projectId)
    .where("accountId", "=", account.id);
  await mine.set({ pin: null }).execute();
  const channels = names.slice(0, limits.pins);
  const pins = { channels, version: versionOf(channels) };
  if (names.length === 0) return pins;
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
      channels.map((channel, pin) => ({
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
  return pins;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
