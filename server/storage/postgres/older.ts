/**
 * The events that PostgreSQL no longer keeps (`../clickhouse/README.md`): what another engine answers about them, and how
 * its answers and PostgreSQL's become one.
 */
import { ProblemError, problem } from "../../core/problems.ts";
import type { Cursor } from "../../event/filter.ts";
import type { ArrivalStamp } from "../../event/id.ts";
import type { Condition } from "../../event/match.ts";
import type { Aggregates } from "../analysis/aggregates.ts";
import type { Fields } from "../analysis/batch.ts";
import type { EventColumns } from "../analysis/event-columns.ts";
import type { PeopleSource } from "../analysis/person-hashes.ts";
import type { Combine } from "../analysis/scan.ts";
import type { MsRange } from "../block.ts";
import type { EventQuery, LateQuery, NewerQuery } from "../event-queries.ts";
import type { AcceptedEvent, ArrivedEvent, Pause } from "../event-store.ts";
import type { Split } from "../split.ts";
import type { OlderStatus, StoreWatch } from "../store.ts";
import type { Match } from "./match.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";

/**
 * Where a read divides events: those that arrived later are in PostgreSQL, all others are in ClickHouse.
 *
 * Invariant: a read takes one cut for both sides, so it sees each event once. Checked by
 * `server/storage/clickhouse/ship.test.ts`.
 */
export type Cut = {
  /** As in the column `arrival`. */
  arrival: bigint;
  /** The last block to read in ClickHouse. */
  block: number;
  /** The latest `createdAt` in ClickHouse; milliseconds since 1970. */
  newestMs: number;
};

/** Events in order, and where to continue; null at the end. */
export type RowPage = { rows: Row[]; next: Cursor | null };

/** A row with everything that PostgreSQL needs to have it back. */
export type OlderRow = Row & { arrival: string; notified: boolean; tokens: string; block: number };

/** A number of events, in a bucket and with a value of the split. */
export type CountedGroup = { value: string | null; bucket: number; events: number };

export type GroupsQuery = {
  projectId: number;
  condition: Condition;
  range: MsRange;
  /** The start of each bucket, and the end of the last. */
  bounds: readonly number[];
  split: Split | undefined;
  /** The only values that the split looks at. */
  values: readonly string[] | undefined;
  /** At most so many groups are returned. */
  groupsMax: number;
};

/** Which events an analysis reads as columns: those that match any of the conditions, each of which tokens decide. */
export type ColumnsQuery = {
  projectId: number;
  conditions: readonly Condition[];
  range: MsRange;
  fields: Fields;
  /** For one condition without users: events of a bucket that differ in nothing else become one, with their number. */
  bounds?: readonly number[] | undefined;
  /** With bounds: the numbers of these events become one, too. */
  combine?: Combine | undefined;
};

/** Reads of events that are not in PostgreSQL. They throw `older-events-unavailable` if ClickHouse doesn't answer. */
export type OlderReads = {
  page: (cut: Cut, query: EventQuery, match: Match, limit: number) => Promise<RowPage>;
  /** The events with these keys, in any order. */
  find: (cut: Cut, projectId: number, keys: readonly Cursor[]) => Promise<OlderRow[]>;
  /** Events in the order of arrival, after one stamp and up to another. */
  arrivedBetween: (
    projectId: number,
    after: ArrivalStamp,
    upTo: bigint,
    limit: number,
  ) => Promise<ArrivedEvent[]>;
  countGroups: (cut: Cut, query: GroupsQuery) => Promise<CountedGroup[]>;
  /** The number of events with each token that any has, and the user of one of them. */
  countTokens: (
    cut: Cut,
    projectId: number,
    tokens: readonly string[],
  ) => Promise<Map<string, { events: number; userId: string }>>;
  /** Those of the tokens that some event has. */
  usedTokens: (tokens: readonly string[]) => Promise<Set<string>>;
  countNewer: (cut: Cut, query: NewerQuery) => Promise<number[]>;
  lateEvents: (cut: Cut, query: LateQuery) => Promise<string[][]>;
  /** Columns of some events at a time, in the order of time. */
  columns: (cut: Cut, query: ColumnsQuery, signal: AbortSignal | undefined) => AsyncIterable<EventColumns>;
};

/** How PostgreSQL's part of an analysis is read: events after a cut, and who is joined to whom. */
export type NewestSources = {
  readNewer: (query: EventQuery, limit: number, cut: Cut) => Promise<RowPage>;
  people: PeopleSource;
};

export type OlderEvents = OlderReads & {
  /** What ClickHouse counts by itself. */
  aggregates: (newest: NewestSources) => Aggregates;
  /** Null as long as all events are in PostgreSQL. */
  cut: () => Promise<Cut | null>;
  /** Divides events where PostgreSQL has all that arrived later. Null if it has all events. */
  keptCut: () => Promise<Cut | null>;
  /** The last arrival whose row may be gone from PostgreSQL. Ask it after reading the rows. */
  clearedTo: () => Promise<bigint>;
  /** Moves events to ClickHouse, and deletes those in PostgreSQL that moved a while ago. */
  ship: (pause: Pause, nowMs: number) => Promise<void>;
  /** Puts events back that are only in ClickHouse and whose ids are as old as they are. Call it before a batch is stored. */
  restoreBefore: (events: readonly AcceptedEvent[]) => Promise<void>;
  /** Puts events back that are only in ClickHouse and whose ids are being sent again. */
  restore: (events: readonly AcceptedEvent[]) => Promise<void>;
  /** The ids of a project's removed events that ClickHouse still has. Ask it before reading what arrived. */
  removing: (projectId: number) => Promise<Set<string>>;
  /** Deletes removed events in ClickHouse. Those on their way there are deleted before they can be read. */
  applyRemovals: () => Promise<void>;
  /** Rewrites what still contains deleted events. */
  rewrite: () => Promise<void>;
  /** What is in ClickHouse, and what still has to move there. */
  status: () => Promise<OlderStatus>;
  close: () => Promise<void>;
};

/** Opens ClickHouse for a database of PostgreSQL. */
export type OpenOlderEvents = (
  runQuery: Query,
  watch: Pick<StoreWatch, "onError" | "onWarning" | "onInfo" | "mayCreate" | "mayUpgrade">,
) => Promise<OlderEvents>;

/**
 * Reads events that are dated from a time on: without ClickHouse if all that it has are dated before, and otherwise from
 * both sides, which `read` divides at the cut. If ClickHouse can't answer, PostgreSQL is asked alone, if it still has all.
 *
 * Throws `older-events-unavailable`, with the time from which on the same read succeeds.
 */
export async function readFrom<Result>(
  older: Pick<OlderEvents, "cut" | "keptCut"> | null,
  fromMs: number,
  read: (cut: Cut | null) => Promise<Result>,
): Promise<Result> {
  const cut = older && (await older.cut());
  if (!older || cut === null || fromMs > cut.newestMs) return read(null);
  try {
    return await read(cut);
  } catch (error) {
    if (!isOlderUnavailable(error)) throw error;
    const kept = await older.keptCut();
    if (kept === null || fromMs > kept.newestMs) return read(null);
    const availableFrom = new Date(kept.newestMs + 1).toISOString();
    throw problem(error.code, { ...error.options, availableFrom });
  }
}

/**
 * The same for a read that passes on what it finds, bit by bit. That can't be taken back: once it has told so, it doesn't
 * begin again.
 */
export function readOnceFrom<Result>(
  older: Pick<OlderEvents, "cut" | "keptCut"> | null,
  fromMs: number,
  read: (cut: Cut | null, onTaken: () => void) => Promise<Result>,
): Promise<Result> {
  let hasTaken = false;
  let failure: unknown = null;
  return readFrom(older, fromMs, async (cut) => {
    if (failure !== null) throw failure;
    return read(cut, () => {
      hasTaken = true;
    }).catch((error) => {
      if (hasTaken) failure = error;
      throw error;
    });
  });
}

/**
 * Reads what belongs to a cut, for numbers of unread events. If ClickHouse can't answer, there is none, and they begin
 * where PostgreSQL has all: a number that is too low is better than a dashboard without its channels.
 */
export async function beforeCut<Result>(
  older: OlderEvents | null,
  read: (cut: Cut) => Promise<Result>,
): Promise<{ cut: Cut | null; value: Result | null }> {
  const cut = older && (await older.cut());
  try {
    return { cut, value: cut && (await read(cut)) };
  } catch (error) {
    if (!isOlderUnavailable(error)) throw error;
    return { cut: await older!.keptCut(), value: null };
  }
}

export function isOlderUnavailable(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.code === "older-events-unavailable";
}

/** Whether events were moved out of PostgreSQL. */
export async function hasShipped(runQuery: Query): Promise<boolean> {
  const [row] = await runQuery<{ has: boolean }>(
    "SELECT EXISTS (SELECT FROM shipped_ranges WHERE shipped_at IS NOT NULL) AS has",
  );
  return row!.has;
}

/** The SQLSTATE of a batch with ids of events that are only in ClickHouse (`migrations/0040-clickhouse.sql`). */
export const shippedIdCode = "TD001";

/**
 * Merges pages of different events. A page that isn't the last of its source says nothing of what follows its cursor, so
 * nothing beyond the first such cursor is returned.
 */
export function mergePages(order: "asc" | "desc", limit: number, pages: readonly RowPage[]): RowPage {
  const sign = order === "asc" ? 1 : -1;
  const compare = (a: Cursor, b: Cursor) => sign * (a.ms - b.ms || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const known = pages.flatMap(({ next }) => next ?? []).sort(compare)[0] ?? null;
  const rows = pages
    .flatMap(({ rows }) => rows)
    .filter((row) => known === null || compare(row, known) <= 0)
    .sort(compare);
  if (rows.length <= limit) return { rows, next: known };
  rows.length = limit;
  const { ms, id } = rows.at(-1)!;
  return { rows, next: { ms, id } };
}
