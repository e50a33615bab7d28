import type { Kysely, SelectQueryBuilder } from "kysely";
import { problem } from "../core/problems.ts";
import type { UserInList, UserSort } from "../schemas/user.ts";
import { faultInUserId } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { joinedIdsOf, personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { endOfPrefix } from "../storage/text-range.ts";
import { exactCounts, withTimes } from "./exact-users.ts";
import { readProfiles } from "./profiles.ts";

export type ListOptions = {
  projectId: number;
  prefix: string;
  sort: UserSort;
  limit: number;
  /** The last user of the previous page, as `nextCursor` has it. */
  cursor?: string | undefined;
};

export type UserPage = { users: UserInList[]; nextCursor: string | null };

export type ActivityRow = { userId: string; firstAt: number; lastAt: number; stale: number; value: number };

/** If up to this many users have a prefix, they are sorted; if more, they are found soon in the sorted index. */
const prefixRows = 1_000;
export const activityColumns = { events: "events", firstSeen: "firstAt", lastSeen: "lastAt" } as const;

/** Lists users by their id. */
export async function listById(store: Store, options: ListOptions): Promise<UserPage> {
  const { projectId, limit, cursor } = options;
  const found: Listed[] = [];
  let after = cursor === undefined ? undefined : readCursor(cursor, "id").userId;
  // IDs that are joined to others are left out, so a page can take several reads.
  while (found.length <= limit) {
    const next = await peopleWithEvents(store, { ...options, after }, limit + 1 - found.length);
    found.push(...next.people);
    if (next.end === null) break;
    after = next.end;
  }
  const page = found.slice(0, limit);
  const ids = page.map(({ userId }) => userId);
  const [seen, profileOf] = await Promise.all([
    activityOf(store, projectId, ids),
    readProfiles(store.control, projectId, ids),
  ]);
  return {
    users: page.map(({ userId, events }) => ({
      userId,
      events,
      firstSeenAt: isoOf(seen.get(userId)?.firstAt),
      lastSeenAt: isoOf(seen.get(userId)?.lastAt),
      ...profileOf(userId),
    })),
    nextCursor: found.length > limit ? writeCursor({ userId: page.at(-1)!.at }) : null,
  };
}

type PeopleQuery = Pick<ListOptions, "projectId" | "prefix"> & { after: string | undefined };
/** A person with events. `at` is the ID at which the list has them: the main one if that has events. */
type Listed = { userId: string; at: string; events: number };

/**
 * People with an ID that has a prefix and events, in the engine's order of IDs. `end` is where the next read continues;
 * null at the end.
 */
async function peopleWithEvents(
  { events, control }: Store,
  { projectId, prefix, after }: PeopleQuery,
  limit: number,
): Promise<{ people: Listed[]; end: string | null }> {
  const from = after === undefined ? {} : { after };
  const read = await events.users({ projectId, prefix, ...from }, limit);
  const userIds = read.map(({ userId }) => userId);
  const persons = await personsOf(control, projectId, userIds);
  const personOfId = (userId: string) => persons.get(userId) ?? userId;
  const idsOfEach = await joinedIdsOf(control, projectId, [...new Set(userIds.map(personOfId))]);
  const joined = [...idsOfEach.values()].filter(({ length }) => length > 1).flat();
  const counted =
    joined.length === 0 ? [] : await events.users({ projectId, userIds: joined }, joined.length);
  const counts = new Map([...read, ...counted].map(({ userId, events }) => [userId, events]));
  const people = userIds.flatMap((at): Listed[] => {
    const userId = personOfId(at);
    const withEvents = idsOfEach.get(userId)!.filter((id) => counts.has(id));
    const listable = withEvents.filter((id) => id.startsWith(prefix));
    const first = listable.includes(userId) ? userId : listable.toSorted(compareTexts)[0];
    if (at !== first) return [];
    return [{ userId, at, events: withEvents.reduce((sum, id) => sum + counts.get(id)!, 0) }];
  });
  return { people, end: read.length < limit ? null : userIds.at(-1)! };
}

/** Lists users with properties, or several IDs, by their id, whether or not they have events. */
export async function listWithProperties(store: Store, options: ListOptions): Promise<UserPage> {
  const { projectId, prefix, limit, cursor } = options;
  const after = cursor === undefined ? "" : readCursor(cursor, "id").userId;
  const found = await store.control
    .selectFrom("users")
    .select("userId")
    .where("projectId", "=", projectId)
    .where((eb) =>
      eb.or([
        eb("properties", "!=", "{}"),
        eb.exists(
          eb
            .selectFrom("personIds")
            .select("personIds.userId")
            .whereRef("personIds.projectId", "=", "users.projectId")
            .whereRef("personIds.personId", "=", "users.userId"),
        ),
      ]),
    )
    .where("userId", ">", after)
    .$if(prefix !== "", (query) =>
      query.where("userId", ">=", prefix).where("userId", "<", endOfPrefix(prefix)),
    )
    .orderBy("userId")
    .limit(limit + 1)
    .execute();
  const page = found.slice(0, limit);
  const ids = page.map(({ userId }) => userId);
  const [seen, counts, profileOf] = await Promise.all([
    activityOf(store, projectId, ids),
    exactCounts(store, projectId, ids),
    readProfiles(store.control, projectId, ids),
  ]);
  return {
    users: page.map(({ userId }) => ({
      userId,
      events: counts.get(userId) ?? 0,
      firstSeenAt: isoOf(seen.get(userId)?.firstAt),
      lastSeenAt: isoOf(seen.get(userId)?.lastAt),
      ...profileOf(userId),
    })),
    nextCursor: found.length > limit ? writeCursor({ userId: page.at(-1)!.userId }) : null,
  };
}

/** Lists users by their activity, most recent or most active first. Their order is some seconds behind. */
export async function listByActivity(store: Store, options: ListOptions): Promise<UserPage> {
  const { projectId, limit, cursor, sort } = options;
  const rows: ActivityRow[] = [];
  const counts = new Map<string, number>();
  let after = cursor === undefined ? null : readCursor(cursor, sort);
  // Users whose events are gone are left out, so a page can take several reads.
  while (rows.length <= limit) {
    const wanted = limit + 1 - rows.length;
    const next = await readRows(store.control, options, after, wanted);
    const exact = await exactCounts(
      store,
      projectId,
      next.map(({ userId }) => userId),
    );
    for (const row of next) {
      const events = exact.get(row.userId);
      if (events === undefined) continue;
      rows.push(row);
      counts.set(row.userId, events);
    }
    if (next.length < wanted) break;
    after = next.at(-1)!;
  }
  const page = rows.slice(0, limit);
  const pageIds = page.map(({ userId }) => userId);
  const profileOf = await readProfiles(store.control, projectId, pageIds);
  const timed = await withTimes(store, projectId, page);
  return {
    users: timed.map(({ userId, firstAt, lastAt }) => ({
      userId,
      events: counts.get(userId)!,
      firstSeenAt: isoOf(firstAt),
      lastSeenAt: isoOf(lastAt),
      ...profileOf(userId),
    })),
    nextCursor: rows.length > limit ? writeCursor({ sort, ...page.at(-1)! }) : null,
  };
}

export type Position = { userId: string; value: number };

async function readRows(
  control: Kysely<ControlTables>,
  { projectId, prefix, sort }: ListOptions,
  after: Position | null,
  limit: number,
): Promise<ActivityRow[]> {
  const column = activityColumns[sort as keyof typeof activityColumns];
  const all = control
    .selectFrom("userActivity")
    .select(["userId", "firstAt", "lastAt", "stale", `${column} as value`])
    .where("projectId", "=", projectId);
  const sorted = (rows: typeof all) => {
    const from = after
      ? rows.where((eb) =>
          eb.or([
            eb(column, "<", after.value),
            eb.and([eb(column, "=", after.value), eb("userId", "<", after.userId)]),
          ]),
        )
      : rows;
    // Repeats the bound, because the planner finds no range in an OR.
    return (after ? from.where(column, "<=", after.value) : from)
      .orderBy(column, "desc")
      .orderBy("userId", "desc")
      .limit(limit)
      .execute();
  };
  if (prefix === "") return sorted(all);
  const named: typeof all = all.where("userId", ">=", prefix).where("userId", "<", endOfPrefix(prefix));
  const few = await withoutSort(named).execute();
  if (few.length > prefixRows) return sorted(named);
  const isAfter = (row: ActivityRow) => !after || compareRows(after, row) < 0;
  return few.toSorted(compareRows).filter(isAfter).slice(0, limit);
}

/** In the order of ids, so that the primary key is used. */
function withoutSort<Row>(rows: SelectQueryBuilder<ControlTables, "userActivity", Row>) {
  return rows.orderBy("userId").limit(prefixRows + 1);
}

/** Descending by value, then by the bytes of the id, as the databases sort. */
export function compareRows(a: Position, b: Position): number {
  return b.value - a.value || compareIds(b, a);
}

/** By the bytes of the id. */
export function compareIds(a: Pick<Position, "userId">, b: Pick<Position, "userId">): number {
  return compareTexts(a.userId, b.userId);
}

function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** When users had their first and last event, which is some seconds behind. */
export async function activityOf(store: Store, projectId: number, userIds: string[]) {
  if (userIds.length === 0) return new Map<string, never>();
  const rows = await store.control
    .selectFrom("userActivity")
    .select(["userId", "firstAt", "lastAt", "stale"])
    .where("projectId", "=", projectId)
    .where("userId", "in", userIds)
    .execute();
  return new Map((await withTimes(store, projectId, rows)).map((row) => [row.userId, row]));
}

export function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** A cursor is the sort, and the value and id of the last user. Sorted by id, the value is 0. */
export function writeCursor({
  sort = "id",
  userId,
  value = 0,
}: {
  sort?: UserSort;
  userId: string;
  value?: number;
}): string {
  return Buffer.from(`${sort}\n${value}\n${userId}`).toString("base64url");
}

/** Throws `query-invalid` if a cursor isn't valid. */
export function readCursor(text: string, sort: UserSort): Position {
  const decoded = Buffer.from(text, "base64url").toString();
  const [, of, value, userId = ""] = /^(\w+)\n(\d{1,16})\n(.+)$/su.exec(decoded) ?? [];
  if (of !== sort || faultInUserId(userId))
    throw problem("query-invalid", {
      detail: '"cursor" must be the "nextCursor" of an earlier page with the same "sort".',
    });
  return { userId, value: Number(value) };
}
