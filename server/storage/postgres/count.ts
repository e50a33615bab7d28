import { holds } from "../../events/filter.ts";
import type { Event } from "../../wire/event.ts";
import { limits } from "../../wire/limits.ts";
import { partsOf, type Range, valueIn } from "../counted.ts";
import { jsonOf, userIdIn } from "../event-row.ts";
import type { CountQuery, Counts, Split } from "../store.ts";
import { Buckets, Tally, TooManyValuesError } from "../tally.ts";
import type { Ask } from "./ask.ts";
import { type Match, matchOf } from "./match.ts";
import type { Row } from "./page.ts";
import type { createRead } from "./read.ts";

const hourMs = 3_600_000;
/** A count of millions of events that no counter holds takes a while. */
const countMs = 60_000;
const rowsOfRun = 2_000;

/** A count under way: what was asked, and what was found. */
type Work = CountQuery & { match: Match; buckets: Buckets; all: number[]; tally: Tally };

/**
 * Makes the function that counts events. What the counters hold is not counted again: they serve for whole hours of channels
 * and names.
 */
export function createCount(ask: Ask, { readPage }: ReturnType<typeof createRead>) {
  return async function count(query: CountQuery): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const work: Work = {
      ...query,
      match: matchOf(query.projectId, query.filter),
      buckets,
      all,
      tally: new Tally(),
    };
    try {
      for (const part of partsOf(query)) {
        if (part.isCounted && query.split?.by !== "tag") await addCounted(work, part);
        else if (work.match.isExact) await addGrouped(work, part);
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

  /** Adds what the counters say of whole hours. */
  async function addCounted(work: Work, hours: Range): Promise<void> {
    const { projectId, filter, split, bounds } = work;
    const isByName = split?.by === "name" || filter.name !== undefined;
    const rows = await ask<{ value: string | null; bucket: number; events: number }>(
      `SELECT ${split ? (split.by === "name" ? "counted.name" : "counted.channel") : "NULL"} AS value,
         width_bucket(counted.hour * ${hourMs}::bigint, $4::bigint[]) - 1 AS bucket, sum(counted.events) AS events
       FROM channels JOIN ${isByName ? "counters" : "channel_counters"} AS counted
         ON counted.project_id = channels.project_id AND counted.channel = channels.name
       WHERE channels.project_id = $1 AND counted.hour >= $2 AND counted.hour < $3
         AND ($5::text IS NULL OR channels.name = $5) AND ($6::text IS NULL ${isByName ? "OR counted.name = $6" : ""})
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
      if (!holds(work.filter, event)) return;
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
      if (holds(filter, eventOf(row))) seen.add(userIdIn(row.body));
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
