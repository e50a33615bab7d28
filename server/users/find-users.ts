import type { Kysely, SelectQueryBuilder } from "kysely";
import { nextTurn } from "../scheduling/turns.ts";
import type { UserSort } from "../schemas/user.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { endOfPrefix } from "../storage/text-range.ts";
import { exactCounts, withTimes } from "./exact-users.ts";
import {
  type ActivityRow,
  activityColumns,
  compareIds,
  compareRows,
  isoOf,
  type ListOptions,
  type Position,
  readCursor,
  type UserPage,
  writeCursor,
} from "./list-users.ts";
import { type Profile, readProfiles } from "./profiles.ts";
import { likePatterns, matchesUser, parseUserSearch, type UserSearch } from "./user-search.ts";

/** Users that are looked at in one step, between two of which other requests get their turn. */
const stepUsers = 1_000;
/** Users whose events are counted in one request, or a page. */
const countedUsers = 100;
/** If up to this many users match, they are sorted; if more, they are found soon in the order of the sort. */
const sortedUsers = 2_000;
/** Users whose activity and properties one statement reads. */
const readUsers = 500;

type Found = ActivityRow & Profile;
type Options = ListOptions & { q: string; signal: AbortSignal };

/** Lists users with events whose ID or properties match a search. */
export async function findUsers(store: Store, options: Options): Promise<UserPage> {
  const { projectId, limit, cursor, sort } = options;
  const after = cursor === undefined ? null : readCursor(cursor, sort);
  const found: { row: Found; events: number }[] = [];
  for await (const rows of inPieces(inOrder(store, options, after), Math.max(limit + 1, countedUsers))) {
    const counts = await exactCounts(
      store,
      projectId,
      rows.map(({ userId }) => userId),
    );
    for (const row of rows) {
      const events = counts.get(row.userId);
      if (events !== undefined) found.push({ row, events });
    }
    if (found.length > limit) break;
  }
  const page = found.slice(0, limit);
  const timed = await withTimes(
    store,
    projectId,
    page.map(({ row }) => row),
  );
  const last = page.at(-1)?.row;
  const position = last && (sort === "id" ? { userId: last.userId } : { sort, ...last });
  return {
    users: timed.map(({ userId, firstAt, lastAt, ids, isKnown, properties }, index) => ({
      userId,
      events: page[index]!.events,
      firstSeenAt: isoOf(firstAt),
      lastSeenAt: isoOf(lastAt),
      ids,
      isKnown,
      properties,
    })),
    nextCursor: position && found.length > limit ? writeCursor(position) : null,
  };
}

/** The users that match, in the order of the sort. */
async function* inOrder(
  { control, events }: Store,
  options: Options,
  after: Position | null,
): AsyncGenerator<Found[]> {
  const search = parseUserSearch(options.q);
  const { projectId, prefix, sort, signal } = options;
  const query = { projectId, prefix, terms: likePatterns(search) };
  const userIds = await events.usersMatching(query, sortedUsers + 1, signal);
  if (userIds.length > sortedUsers) return yield* walk(control, options, search, after);
  const found: Found[] = [];
  for (let start = 0; start < userIds.length; start += readUsers)
    found.push(...(await read(control, options, userIds.slice(start, start + readUsers))));
  const compare = sort === "id" ? compareIds : compareRows;
  yield found
    .filter((row) => matchesUser(search, row.ids, row.properties) && (!after || compare(after, row) < 0))
    .sort(compare);
}

/** Reads the users that have events. */
async function read(
  control: Kysely<ControlTables>,
  { projectId, sort }: Options,
  userIds: string[],
): Promise<Found[]> {
  const [rows, profileOf] = await Promise.all([
    control
      .selectFrom("userActivity")
      .select(["userId", "firstAt", "lastAt", "stale", `${columnOf(sort) ?? "events"} as value`])
      .where("projectId", "=", projectId)
      .where("userId", "in", userIds)
      .execute(),
    readProfiles(control, projectId, userIds),
  ]);
  return rows.map((row) => ({ ...row, ...profileOf(row.userId) }));
}

/** At most so many at a time. Several can be needed for a page, because some users can have no events any more. */
async function* inPieces<Row>(all: AsyncIterable<Row[]>, size: number): AsyncGenerator<Row[]> {
  for await (const rows of all)
    for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

type Rows = SelectQueryBuilder<ControlTables, "userActivity", object>;

/** Walks through users in the order of the sort, and yields those that match. */
async function* walk(
  control: Kysely<ControlTables>,
  { projectId, prefix, sort, signal }: Options,
  search: UserSearch,
  after: Position | null,
): AsyncGenerator<Found[]> {
  const column = columnOf(sort);
  const own = control.selectFrom("userActivity").where("projectId", "=", projectId);
  const all: Rows =
    prefix === "" ? own : own.where("userId", ">=", prefix).where("userId", "<", endOfPrefix(prefix));
  for (let from = after; !signal.aborted; ) {
    const rest = from ? beyond(all, column, from) : all;
    const sorted = column ? rest.orderBy(column, "desc").orderBy("userId", "desc") : rest.orderBy("userId");
    const rows = await sorted
      .select(["userId", "firstAt", "lastAt", "stale", `${column ?? "events"} as value`])
      .limit(stepUsers)
      .execute();
    const profileOf = await readProfiles(
      control,
      projectId,
      rows.map(({ userId }) => userId),
    );
    const found = rows
      .map((row) => ({ ...row, ...profileOf(row.userId) }))
      .filter(({ ids, properties }) => matchesUser(search, ids, properties));
    if (found.length > 0) yield found;
    if (rows.length < stepUsers) return;
    from = rows.at(-1)!;
    await nextTurn(projectId);
  }
}

/** The rows after a position. */
function beyond(rows: Rows, column: ColumnName | null, { userId, value }: Position): Rows {
  if (!column) return rows.where("userId", ">", userId);
  return (
    rows
      .where((eb) =>
        eb.or([eb(column, "<", value), eb.and([eb(column, "=", value), eb("userId", "<", userId)])]),
      )
      // Repeats the bound, because the planner finds no range in an OR.
      .where(column, "<=", value)
  );
}

type ColumnName = (typeof activityColumns)[keyof typeof activityColumns];

function columnOf(sort: UserSort): ColumnName | null {
  return sort === "id" ? null : activityColumns[sort];
}
