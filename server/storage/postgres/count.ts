import type { Event } from "../../event/event.ts";
import { matches } from "../../event/filter.ts";
import { type Term, textOf, token } from "../../event/tokens.ts";
import { limits } from "../../limits.ts";
import { counterRangesOf, type Range, valueIn } from "../counter-ranges.ts";
import { jsonOf, userIdIn } from "../event-row.ts";
import { Buckets, Histogram, TooManyValuesError } from "../histogram.ts";
import type { CountQuery, Counts, Split } from "../store.ts";
import type { Blocks } from "./blocks.ts";
import { createCountBlocks } from "./count-blocks.ts";
import { type Match, matchOf, queryOfTokens } from "./match.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";
import { withinOf } from "./scan-cursor.ts";
import { tokensFrom } from "./vocabulary.ts";

const hourMs = 3_600_000;
/** Counting millions of events without counters takes long. */
const countMs = 60_000;
const runRows = 2_000;
/** Values of a split that blocks count one by one. If there are more, reading the events is faster. */
const termsMax = 1_000;

/** A running count: the query and its results so far. */
type CountState = CountQuery & { match: Match; buckets: Buckets; all: number[]; histogram: Histogram };

/**
 * Counts events. Counters answer for whole hours of channels and names. Otherwise blocks do, and for time without
 * blocks the database groups the events themselves.
 */
export function createCount(runQuery: Query, { readPage }: ReturnType<typeof createRead>, blocks: Blocks) {
  const countBlocks = createCountBlocks(blocks);

  return async function count(query: CountQuery): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const state: CountState = {
      ...query,
      match: matchOf(query.projectId, query.filter),
      buckets,
      all,
      histogram: new Histogram(),
    };
    try {
      for (const part of counterRangesOf(query, await partialHours(query))) {
        if (part.isCounted && query.split?.by !== "tag") await addFromCounters(state, part);
        else if (state.match.isExact) await addFromBlocks(state, part);
        else await addRows(state, part);
      }
    } catch (error) {
      if (error instanceof TooManyValuesError) return null;
      throw error;
    }
    return {
      all,
      series: state.histogram.largest(query.series, buckets.length),
      users: query.users ? await countUsers(state) : null,
    };
  };

  function add(
    { split, all, histogram }: CountState,
    value: string | null | undefined,
    bucket: number,
    events: number,
  ) {
    all[bucket]! += events;
    if (split && value != null) histogram.add(value, bucket, events);
  }

  /** The hours whose counters can't tell how many events had the name that is asked for. */
  async function partialHours({ projectId, filter, bounds }: CountQuery): Promise<number[]> {
    if (filter.name === undefined) return [];
    const rows = await runQuery<{ hour: number }>(
      `SELECT DISTINCT hour FROM counters
       WHERE project_id = $1 AND name = '' AND hour >= $2 AND hour < $3 AND ($4::text IS NULL OR channel = $4) ORDER BY hour`,
      [
        projectId,
        Math.floor(bounds[0]! / hourMs),
        Math.ceil(bounds.at(-1)! / hourMs),
        filter.channel ?? null,
      ],
    );
    return rows.map(({ hour }) => hour);
  }

  /** Adds the counters of whole hours. */
  async function addFromCounters(state: CountState, hours: Range): Promise<void> {
    if (state.split?.by === "name" && state.filter.name === undefined) {
      const { split: _, ...whole } = state;
      await addCounters(whole, hours);
      // Names without a counter of their own are only in the total.
      await addCounters({ ...state, all: state.all.map(() => 0) }, hours);
    } else await addCounters(state, hours);
  }

  async function addCounters(state: CountState, hours: Range): Promise<void> {
    const { projectId, filter, split, bounds } = state;
    const isByName = split?.by === "name" || filter.name !== undefined;
    const rows = await runQuery<{ value: string | null; bucket: number; events: number }>(
      `SELECT ${split ? (split.by === "name" ? "counted.name" : "counted.channel") : "NULL"} AS value,
         width_bucket(counted.hour * ${hourMs}::bigint, $4::bigint[]) - 1 AS bucket, sum(counted.events) AS events
       FROM channels JOIN ${isByName ? "counters" : "channel_counters"} AS counted
         ON counted.project_id = channels.project_id AND counted.channel = channels.name
       WHERE channels.project_id = $1 AND counted.hour >= $2 AND counted.hour < $3
         AND ($5::text IS NULL OR channels.name = $5) AND ($6::text IS NULL ${isByName ? "OR counted.name = $6" : ""})
         ${isByName ? "AND counted.name <> ''" : ""}
       GROUP BY 1, 2 LIMIT $7`,
      [
        projectId,
        hours.fromMs / hourMs,
        hours.toMs / hourMs,
        bounds,
        filter.channel ?? null,
        filter.name ?? null,
        rowsMax(state),
      ],
      countMs,
    );
    for (const { value, bucket, events } of rows) add(state, value, bucket, events);
  }

  /** Adds the events of a range, counted by blocks, and by the database where there are none. */
  async function addFromBlocks(state: CountState, range: Range): Promise<void> {
    const { projectId, match, buckets, all, histogram, split } = state;
    const terms = split ? await termsOf(projectId, split) : [];
    if (terms === null) return addGrouped(state, range);
    const { condition } = match;
    const tokens = terms.map(({ token }) => token);
    // The ranges in which the index must be asked for each term.
    const pending = terms.map((): Range[] => []);
    for await (const { count, range: between } of countBlocks(
      { projectId, condition, tokens, buckets },
      range,
    )) {
      if (between) {
        await addGrouped(state, between);
        continue;
      }
      const unknown = count.split(terms, histogram, (bucket, events) => {
        all[bucket]! += events;
      });
      for (const index of unknown) extend(pending[index]!, count.range);
    }
    for (const [index, { token, text }] of terms.entries()) {
      for (const range of pending[index]!) await addTerm(state, token, text, range);
    }
  }

  /** Adds the few events of a range that have a term's token to the split. */
  async function addTerm(
    { projectId, match, bounds, histogram }: CountState,
    token: string,
    text: string,
    range: Range,
  ): Promise<void> {
    const terms = [queryOfTokens([token]), match.query, withinOf(projectId, range)];
    const rows = await runQuery<{ bucket: number; events: number }>(
      `SELECT width_bucket(created_at, $4::bigint[]) - 1 AS bucket, count(*) AS events FROM events
       WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND tokens @@ $5::tsquery GROUP BY 1`,
      [projectId, range.fromMs, range.toMs, bounds, terms.filter((term) => term !== null).join(" & ")],
      countMs,
    );
    for (const { bucket, events } of rows) histogram.add(text, bucket, events);
  }

  /** The values of a split with their tokens; null if there are too many, or a token has only a hash of its value. */
  async function termsOf(projectId: number, split: Split): Promise<Term[] | null> {
    if (split.by === "channel") {
      const rows = await runQuery<{ name: string }>(
        "SELECT name FROM channels WHERE project_id = $1 LIMIT $2",
        [projectId, termsMax + 1],
      );
      return rows.length > termsMax
        ? null
        : rows.map(({ name }) => ({ token: token.channel(projectId, name), text: name }));
    }
    const prefix = split.by === "name" ? token.name(projectId, "") : token.tag(projectId, split.key, "");
    const terms: Term[] = [];
    for await (const word of tokensFrom(runQuery, prefix)) {
      const text = textOf(word.slice(prefix.length));
      if (text === null || terms.length === termsMax) return null;
      terms.push({ token: word, text });
    }
    return terms;
  }

  /** Adds the events of a range, grouped by the database. */
  async function addGrouped(state: CountState, { fromMs, toMs }: Range): Promise<void> {
    const { projectId, match, split, bounds } = state;
    const rows = await runQuery<{ value: string | null; bucket: number; events: number }>(
      `SELECT ${valueSql(split)} AS value, width_bucket(created_at, $4::bigint[]) - 1 AS bucket, count(*) AS events
       FROM events WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
         AND ($5::tsquery IS NULL OR tokens @@ $5::tsquery) AND ($6::text IS NULL OR true)
       GROUP BY 1, 2 LIMIT $7`,
      [projectId, fromMs, toMs, bounds, match.query, split?.by === "tag" ? split.key : null, rowsMax(state)],
      countMs,
    );
    for (const { value, bucket, events } of rows) add(state, value, bucket, events);
  }

  async function addRows(state: CountState, range: Range): Promise<void> {
    await forEachRow(state, range, (row) => {
      const event = eventOf(row);
      if (!matches(state.filter, event)) return;
      add(state, state.split && valueIn(event, state.split), state.buckets.of(row.ms), 1);
    });
  }

  async function countUsers(state: CountState): Promise<number> {
    const { projectId, filter, match, bounds } = state;
    const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
    if (match.isExact) {
      const [row] = await runQuery<{ users: number }>(
        `SELECT count(DISTINCT nullif(${memberSql("userId")}, '') COLLATE "C") AS users FROM events
         WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
           AND ($4::tsquery IS NULL OR tokens @@ $4::tsquery)`,
        [projectId, range.fromMs, range.toMs, match.query],
        countMs,
      );
      return row!.users;
    }
    const seen = new Set<string>();
    await forEachRow(state, range, (row) => {
      if (matches(filter, eventOf(row))) seen.add(userIdIn(row.body));
    });
    seen.delete("");
    return seen.size;
  }

  /** Calls `take` for each row that can match. */
  async function forEachRow(state: CountState, range: Range, take: (row: Row) => void): Promise<void> {
    const query = {
      projectId: state.projectId,
      filter: { ...state.filter, ...range },
      order: "asc" as const,
    };
    for (let after: { ms: number; id: string } | null | undefined; after !== null; ) {
      const { rows, next } = await readPage({ ...query, ...(after && { after }) }, runRows);
      for (const row of rows) take(row);
      after = next;
    }
  }
}

/** Appends a range, and joins it with the last one if they touch. */
function extend(ranges: Range[], { fromMs, toMs }: Range): void {
  const last = ranges.at(-1);
  if (last?.toMs === fromMs) last.toMs = toMs;
  else ranges.push({ fromMs, toMs });
}

/** If a query returns this many groups, the split has too many values. */
function rowsMax({ buckets }: CountState): number {
  return (limits.statsSplitValues + 1) * buckets.length + 1;
}

function valueSql(split: Split | undefined): string {
  switch (split?.by) {
    case undefined:
      return "NULL";
    case "channel":
      return memberSql("channelId");
    case "name":
      return memberSql("name");
    case "tag":
      return `('{' || body || '}')::json -> 'tags' ->> $6`;
  }
}

function memberSql(member: "userId" | "channelId" | "name"): string {
  return `(('{' || body || '}')::json ->> '${member}')`;
}

function eventOf({ id, body, ms }: Row): Event {
  return JSON.parse(jsonOf(id, body, ms)) as Event;
}
