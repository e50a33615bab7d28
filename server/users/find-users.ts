import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { endOfPrefix } from "../storage/text-range.ts";
import { nextTurn } from "../turns.ts";
import type { UserProperties } from "../wire/user-rule.ts";
import {
  type ActivityRow,
  activityColumns,
  compareRows,
  isoOf,
  type ListOptions,
  type Position,
  readCursor,
  type UserPage,
  writeCursor,
} from "./list-users.ts";
import { exactCounts } from "./user-activity.ts";
import { likePatterns, matchesUser, parseUserSearch, type UserSearch } from "./user-search.ts";

/** Users that are looked at in one step, between two of which other requests get their turn. */
const stepUsers = 2_000;
/** Users whose events are counted in one request, or a page. */
const countedUsers = 100;
/** If up to this many users match, they are sorted; if more, they are found soon in the sorted index. */
const sortedUsers = 1_000;

type Found = ActivityRow & { properties: UserProperties };
type Options = ListOptions & { q: string; signal: AbortSignal };

/**
 * Lists users with events whose ID or properties match a search. No index has the properties: the users are looked at
 * in steps, until the page is full or all have been.
 */
export async function findUsers(store: Store, options: Options): Promise<UserPage> {
  const { projectId, limit, cursor, sort } = options;
  const after = cursor === undefined ? null : readCursor(cursor, sort);
  const found: { row: Found; events: number }[] = [];
  for await (const rows of inPieces(
    inOrder(store.control, options, after),
    Math.max(limit + 1, countedUsers),
  )) {
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
  const last = page.at(-1)?.row;
  const position = last && (sort === "id" ? { userId: last.userId } : { sort, ...last });
  return {
    users: page.map(({ row: { userId, firstAt, lastAt, properties }, events }) => ({
      userId,
      events,
      firstSeenAt: isoOf(firstAt),
      lastSeenAt: isoOf(lastAt),
      properties,
    })),
    nextCursor: position && found.length > limit ? writeCursor(position) : null,
  };
}

/** The users that match, in the order of the sort. */
async function* inOrder(
  control: Kysely<ControlTables>,
  options: Options,
  after: Position | null,
): AsyncGenerator<Found[]> {
  const search = parseUserSearch(options.q);
  const { sort } = options;
  if (sort === "id") return yield* walk(control, options, search, after);
  const matching: Found[] = [];
  for await (const rows of walk(control, { ...options, sort: "id" }, search, null, sort)) {
    matching.push(...rows);
    if (matching.length > sortedUsers) return yield* walk(control, options, search, after);
  }
  const rows = matching.toSorted(compareRows).filter((row) => !after || compareRows(after, row) < 0);
  yield rows;
}

/** At most so many at a time. Several can be needed for a page, because some users can have no events any more. */
async function* inPieces<Row>(all: AsyncIterable<Row[]>, size: number): AsyncGenerator<Row[]> {
  for await (const rows of all)
    for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

type Rows = SelectQueryBuilder<ControlTables, "userActivity", object>;

/**
 * Walks through users in the order of their ID, or descending by a column, and yields those that match.
 *
 * @param valueSort - the sort whose value the rows have
 */
async function* walk(
  control: Kysely<ControlTables>,
  { projectId, prefix, sort, signal }: Options,
  search: UserSearch,
  after: Position | null,
  valueSort = sort,
): AsyncGenerator<Found[]> {
  const column = sort === "id" ? null : activityColumns[sort];
  const own = control.selectFrom("userActivity").where("userActivity.projectId", "=", projectId);
  const all: Rows =
    prefix === ""
      ? own
      : own.where("userActivity.userId", ">=", prefix).where("userActivity.userId", "<", endOfPrefix(prefix));
  for (let from = after; !signal.aborted; ) {
    const rest = from ? beyond(all, column, from, "after") : all;
    const sorted = column
      ? rest.orderBy(`userActivity.${column}`, "desc").orderBy("userActivity.userId", "desc")
      : rest.orderBy("userActivity.userId");
    const [end] = await sorted
      .select(["userActivity.userId as userId", `userActivity.${column ?? "events"} as value`])
      .offset(stepUsers - 1)
      .limit(1)
      .execute();
    const step = end ? beyond(sorted, column, end, "upTo") : sorted;
    const rows = await matchingOf(step, search, column ? {} : { from, end })
      .select([
        "userActivity.userId as userId",
        "userActivity.firstAt as firstAt",
        "userActivity.lastAt as lastAt",
        `userActivity.${valueSort === "id" ? "events" : activityColumns[valueSort]} as value`,
        "users.properties as properties",
      ])
      .execute();
    const found = rows
      .map((row) => ({ ...row, properties: JSON.parse(row.properties ?? "{}") as UserProperties }))
      .filter(({ userId, properties }) => matchesUser(search, userId, properties));
    if (found.length > 0) yield found;
    if (!end) return;
    from = end;
    await nextTurn();
  }
}

/** The rows after a position, or those up to it. */
function beyond(
  rows: Rows,
  column: ColumnName | null,
  { userId, value }: Position,
  side: "after" | "upTo",
): Rows {
  const id = "userActivity.userId" as const;
  if (!column) return rows.where(id, side === "after" ? ">" : "<=", userId);
  const key = `userActivity.${column}` as const;
  const [further, atOrFurther] = side === "after" ? (["<", "<"] as const) : ([">", ">="] as const);
  return (
    rows
      .where((eb) =>
        eb.or([eb(key, further, value), eb.and([eb(key, "=", value), eb(id, atOrFurther, userId)])]),
      )
      // Repeats the bound, because the planner finds no range in an OR.
      .where(key, side === "after" ? "<=" : ">=", value)
  );
}

type ColumnName = (typeof activityColumns)[keyof typeof activityColumns];

/** Joins the properties, and leaves out most users that don't match. */
function matchingOf(
  rows: Rows,
  search: UserSearch,
  { from, end }: { from?: Position | null; end?: Position | undefined },
) {
  const joined = rows.leftJoin("users", (join) => {
    const same = join
      .onRef("users.projectId", "=", "userActivity.projectId")
      .onRef("users.userId", "=", "userActivity.userId");
    // Repeats the bounds, so that no plan reads all properties in each step.
    const after = from ? same.on("users.userId", ">", from.userId) : same;
    return end ? after.on("users.userId", "<=", end.userId) : after;
  });
  return joined.where((eb) =>
    eb.and(
      likePatterns(search).map(({ id, properties }) =>
        eb.or([
          ...(id === null ? [] : [sql<boolean>`lower(${eb.ref("userActivity.userId")}) like ${id}`]),
          ...properties.map((pattern) => sql<boolean>`lower(${eb.ref("users.properties")}) like ${pattern}`),
        ]),
      ),
    ),
  );
}
