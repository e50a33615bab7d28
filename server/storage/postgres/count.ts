import type { Event } from "../../event/event.ts";
import { matches } from "../../event/filter.ts";
import { type Term, textOf, token } from "../../event/tokens.ts";
import { limits } from "../../limits.ts";
import { counterRangesOf, type Range, valueIn } from "../counter-ranges.ts";
import { jsonOf, userIdIn } from "../event-row.ts";
import { Buckets, Histogram, TooManyValuesError } from "../histogram.ts";
import type { CountQuery, Counts, Split } from "../store.ts";
import type { Blocks } from "./blocks.ts";
import { createCountDigested } from "./count-blocks.ts";
import { type Match, matchOf, queryOfTokens } from "./match.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";
import { withinOf } from "./scan-cursor.ts";
import { tokensFrom } from "./vocabulary.ts";

const hourMs = 3_600_000;
/** A count of millions of events that no counter holds takes a while. */
const countMs = 60_000;
const rowsOfRun = 2_000;
/** Values that are counted one by one in digests; the events tell more of them apart sooner. */
const termsMax = 1_000;

/** A count under way: what was asked, and what was found. */
type Work = CountQuery & { match: Match; buckets: Buckets; all: number[]; tally: Histogram };

/**
 * Makes the function that counts events. What the counters hold is not counted again: they serve for whole hours of channels
 * and names. Else digests do, and in time that is in none the database groups the events themselves.
 */
export function createCount(ask: Query, { readPage }: ReturnType<typeof createRead>, blocks: Blocks) {
  const countDigested = createCountDigested(blocks);

  return async function count(query: CountQuery): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const work: Work = {
      ...query,
      match: matchOf(query.projectId, query.filter),
      buckets,
      all,
      tally: new Histogram(),
    };
    try {
      for (const part of counterRangesOf(query, await partialHours(query))) {
        if (part.isCounted && query.split?.by !== "tag") await addCounted(work, part);
        else if (work.match.isExact) await addDigested(work, part);
        else await addRows(work, part);
      }
    } catch (error) {
      if (error instanceof TooManyValuesError) return null;
      throw error;
    }
    return {
      all,
      series: work.tally.largest(query.series, buckets.length),
      users: query.users ? await countUsers(work) : null,
    };
  };

  function add(
    { split, all, tally }: Work,
    value: string | null | undefined,
    bucket: number,
    events: number,
  ) {
    all[bucket]! += events;
    if (split && value != null) tally.add(value, bucket, events);
  }

  /** The hours whose counters can't tell how many events had the name that is asked for. */
  async function partialHours({ projectId, filter, bounds }: CountQuery): Promise<number[]> {
    if (filter.name === undefined) return [];
    const rows = await ask<{ hour: number }>(
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

  /** Adds what the counters say of whole hours. */
  async function addCounted(work: Work, hours: Range): Promise<void> {
    if (work.split?.by === "name" && work.filter.name === undefined) {
      const { split: _, ...whole } = work;
      await addCounters(whole, hours);
      // Names that are not counted one by one are in the sum alone.
      await addCounters({ ...work, all: work.all.map(() => 0) }, hours);
    } else await addCounters(work, hours);
  }

  async function addCounters(work: Work, hours: Range): Promise<void> {
    const { projectId, filter, split, bounds } = work;
    const isByName = split?.by === "name" || filter.name !== undefined;
    const rows = await ask<{ value: string | null; bucket: number; events: number }>(
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
        rowsMax(work),
      ],
      countMs,
    );
    for (const { value, bucket, events } of rows) add(work, value, bucket, events);
  }

  /** Adds the events of a range: what the digests tell, and the rest as the database groups it. */
  async function addDigested(work: Work, range: Range): Promise<void> {
    const { projectId, match, buckets, all, tally, split } = work;
    const terms = split ? await termsOf(projectId, split) : [];
    if (terms === null) return addGrouped(work, range);
    const { condition } = match;
    const tokens = terms.map(({ token }) => token);
    // When each is to be looked for in the index, because no digest tells.
    const left = terms.map((): Range[] => []);
    for await (const { count, range: between } of countDigested(
      { projectId, condition, tokens, buckets },
      range,
    )) {
      if (between) {
        await addGrouped(work, between);
        continue;
      }
      const unknown = count.split(terms, tally, (bucket, events) => {
        all[bucket]! += events;
      });
      for (const index of unknown) extend(left[index]!, count.range);
    }
    for (const [index, { token, text }] of terms.entries()) {
      for (const range of left[index]!) await addTerm(work, token, text, range);
    }
  }

  /** Adds to a split the events of a range that have a token; they are few. */
  async function addTerm(
    { projectId, match, bounds, tally }: Work,
    token: string,
    text: string,
    range: Range,
  ): Promise<void> {
    const terms = [queryOfTokens([token]), match.query, withinOf(projectId, range)];
    const rows = await ask<{ bucket: number; events: number }>(
      `SELECT width_bucket(created_at, $4::bigint[]) - 1 AS bucket, count(*) AS events FROM events
       WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND tokens @@ $5::tsquery GROUP BY 1`,
      [projectId, range.fromMs, range.toMs, bounds, terms.filter((term) => term !== null).join(" & ")],
      countMs,
    );
    for (const { bucket, events } of rows) tally.add(text, bucket, events);
  }

  /** The values that a project's events are split into, with their tokens; null where they are many, or where a hash is all that is known of one. */
  async function termsOf(projectId: number, split: Split): Promise<Term[] | null> {
    if (split.by === "channel") {
      const rows = await ask<{ name: string }>("SELECT name FROM channels WHERE project_id = $1 LIMIT $2", [
        projectId,
        termsMax + 1,
      ]);
      return rows.length > termsMax
        ? null
        : rows.map(({ name }) => ({ token: token.channel(projectId, name), text: name }));
    }
    const prefix = split.by === "name" ? token.name(projectId, "") : token.tag(projectId, split.key, "");
    const terms: Term[] = [];
    for await (const word of tokensFrom(ask, prefix)) {
      const text = textOf(word.slice(prefix.length));
      if (text === null || terms.length === termsMax) return null;
      terms.push({ token: word, text });
    }
    return terms;
  }

  /** Adds the events of a range, grouped by the database. */
  async function addGrouped(work: Work, { fromMs, toMs }: Range): Promise<void> {
    const { projectId, match, split, bounds } = work;
    const rows = await ask<{ value: string | null; bucket: number; events: number }>(
      `SELECT ${valueSql(split)} AS value, width_bucket(created_at, $4::bigint[]) - 1 AS bucket, count(*) AS events
       FROM events WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
         AND ($5::tsquery IS NULL OR tokens @@ $5::tsquery) AND ($6::text IS NULL OR true)
       GROUP BY 1, 2 LIMIT $7`,
      [projectId, fromMs, toMs, bounds, match.query, split?.by === "tag" ? split.key : null, rowsMax(work)],
      countMs,
    );
    for (const { value, bucket, events } of rows) add(work, value, bucket, events);
  }

  async function addRows(work: Work, range: Range): Promise<void> {
    await forEachRow(work, range, (row) => {
      const event = eventOf(row);
      if (!matches(work.filter, event)) return;
      add(work, work.split && valueIn(event, work.split), work.buckets.of(row.ms), 1);
    });
  }

  async function countUsers(work: Work): Promise<number> {
    const { projectId, filter, match, bounds } = work;
    const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
    if (match.isExact) {
      const [row] = await ask<{ users: number }>(
        `SELECT count(DISTINCT nullif(${memberSql("userId")}, '') COLLATE "C") AS users FROM events
         WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
           AND ($4::tsquery IS NULL OR tokens @@ $4::tsquery)`,
        [projectId, range.fromMs, range.toMs, match.query],
        countMs,
      );
      return row!.users;
    }
    const seen = new Set<string>();
    await forEachRow(work, range, (row) => {
      if (matches(filter, eventOf(row))) seen.add(userIdIn(row.body));
    });
    seen.delete("");
    return seen.size;
  }

  /** Gives the rows that may be meant. */
  async function forEachRow(work: Work, range: Range, take: (row: Row) => void): Promise<void> {
    const query = { projectId: work.projectId, filter: { ...work.filter, ...range }, order: "asc" as const };
    for (let after: { ms: number; id: string } | null | undefined; after !== null; ) {
      const { rows, next } = await readPage({ ...query, ...(after && { after }) }, rowsOfRun);
      for (const row of rows) take(row);
      after = next;
    }
  }
}

/** A range that goes on where the last one ended becomes one with it. */
function extend(ranges: Range[], { fromMs, toMs }: Range): void {
  const last = ranges.at(-1);
  if (last?.toMs === fromMs) last.toMs = toMs;
  else ranges.push({ fromMs, toMs });
}

/** More groups than these have more values than a split may tell apart. */
function rowsMax({ buckets }: Work): number {
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
