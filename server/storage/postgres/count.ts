import { limits } from "../../core/limits.ts";
import { type Term, textOf, token } from "../../event/tokens.ts";
import type { MsRange } from "../block.ts";
import { addToSplit, type CountRow, type CountSource, type CountState, eventOf } from "../count.ts";
import { appendRange, valueIn } from "../counter-ranges.ts";
import type { CountQuery } from "../event-queries.ts";
import type { Split } from "../split.ts";
import type { Blocks } from "./blocks.ts";
import { createCountBlocks } from "./count-blocks.ts";
import { type Match, matchOf, queryOfTokens } from "./match.ts";
import { type Cut, type OlderEvents, readFrom } from "./older.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";
import { aboveSql, withinOf } from "./scan-cursor.ts";
import { tokensFrom } from "./vocabulary.ts";

const hourMs = 3_600_000;
/** Counting millions of events without counters takes long. */
const countMs = 60_000;
const runRows = 2_000;
/** Values of a split that blocks count one by one. If there are more, reading the events is faster. */
const termsMax = 1_000;

/** What is kept during a count. */
type Own = { match: Match; signal: AbortSignal | undefined };
type State = CountState & Own;

/** Reads for counts: counters, blocks, and for time without blocks the events themselves, grouped by the database. */
export function createCountSource(
  runQuery: Query,
  { readPage }: ReturnType<typeof createRead>,
  blocks: Blocks,
  older: OlderEvents | null,
): CountSource<Own> {
  const countBlocks = createCountBlocks(blocks);

  return {
    begin: ({ projectId, filter }, signal) => ({ match: matchOf(projectId, filter), signal }),
    partialHours,
    forEachCounter,
    addRange,
    forEachRow,
  };

  async function partialHours(
    { projectId, filter }: CountQuery,
    [from, to]: [number, number],
  ): Promise<number[]> {
    const rows = await runQuery<{ hour: number }>(
      `SELECT DISTINCT hour FROM counters
       WHERE project_id = $1 AND name = '' AND hour >= $2 AND hour < $3 AND ($4::text IS NULL OR channel = $4) ORDER BY hour`,
      [projectId, from, to, filter.channel ?? null],
    );
    return rows.map(({ hour }) => hour);
  }

  async function forEachCounter(
    state: State,
    split: Split | undefined,
    hours: MsRange,
    take: (value: string | null, bucket: number, events: number) => void,
  ): Promise<void> {
    const { projectId, filter, bounds, values } = state;
    const isByName = split?.by === "name" || filter.name !== undefined;
    const rows = await runQuery<{ value: string | null; bucket: number; events: number }>(
      `SELECT ${lookedAtSql(split ? (split.by === "name" ? "counted.name" : "counted.channel") : "NULL", "$8")} AS value,
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
        values ?? null,
      ],
      countMs,
    );
    for (const { value, bucket, events } of rows) take(value, bucket, events);
  }

  async function addRange(state: State, range: MsRange): Promise<void> {
    const { projectId, match, buckets, all, histogram, split } = state;
    // Terms are only for blocks.
    if (older) return match.needsRows ? addEach(state, range) : addGrouped(state, range);
    const terms = split ? await termsOf(projectId, split) : [];
    const addBetween = match.needsRows ? addEach : addGrouped;
    if (terms === null) return addBetween(state, range);
    const { condition } = match;
    const tokens = terms.map(({ token }) => token);
    // The ranges in which the index must be asked for each term.
    const pending = terms.map((): MsRange[] => []);
    for await (const { count, range: between } of countBlocks(
      { projectId, condition, tokens, buckets },
      range,
    )) {
      state.signal?.throwIfAborted();
      if (between) {
        await addBetween(state, between);
        continue;
      }
      const unknown = count.split(terms, histogram, (bucket, events) => {
        all[bucket]! += events;
      });
      if (match.needsRows && unknown.length > 0) {
        await addTexts(state, count.range, new Set(unknown.map((index) => terms[index]!.text)));
      } else for (const index of unknown) appendRange(pending[index]!, count.range);
    }
    for (const [index, { token, text }] of terms.entries()) {
      for (const range of pending[index]!) {
        state.signal?.throwIfAborted();
        await addTerm(state, token, text, range);
      }
    }
  }

  /** Adds the events of a range one by one: only they tell whether their numbers match. */
  async function addEach(state: State, range: MsRange): Promise<void> {
    await forEachRow(state, range, (row) => {
      state.all[state.buckets.of(row.ms)]! += 1;
      addToSplit(state, row);
    });
  }

  /** Adds the events of a range that have any of the texts to the split. */
  async function addTexts(state: State, range: MsRange, texts: Set<string>): Promise<void> {
    const { split, buckets, histogram } = state;
    await forEachRow(state, range, (row) => {
      const text = valueIn(eventOf(row), split!);
      if (text !== undefined && texts.has(text)) histogram.add(text, buckets.of(row.ms), 1);
    });
  }

  /** Adds the few events of a range that have a term's token to the split. */
  async function addTerm(
    { projectId, match, bounds, histogram }: State,
    token: string,
    text: string,
    range: MsRange,
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
  async function addGrouped(state: State, range: MsRange): Promise<void> {
    const { all, histogram } = state;
    const groups = await readFrom(older, range.fromMs, (cut) => groupsOf(state, range, cut));
    for (const { value, bucket, events } of groups) {
      all[bucket]! += events;
      if (value !== null) histogram.add(value, bucket, events);
    }
  }

  async function groupsOf(
    state: State,
    { fromMs, toMs }: MsRange,
    cut: Cut | null,
  ): Promise<{ value: string | null; bucket: number; events: number }[]> {
    const { projectId, match, split, bounds, values } = state;
    const rows = await runQuery<{ value: string | null; bucket: number; events: number }>(
      `SELECT ${lookedAtSql(valueSql(split), "$8")} AS value, width_bucket(created_at, $4::bigint[]) - 1 AS bucket, count(*) AS events
       FROM events WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
         AND ($5::tsquery IS NULL OR tokens @@ $5::tsquery) AND ($6::text IS NULL OR true)
         ${aboveSql(cut?.arrival)}
       GROUP BY 1, 2 LIMIT $7`,
      [
        projectId,
        fromMs,
        toMs,
        bounds,
        match.query,
        split?.by === "tag" ? split.key : null,
        rowsMax(state),
        values ?? null,
      ],
      countMs,
    );
    if (older && cut) {
      const range = { fromMs, toMs };
      const { condition } = match;
      const groupsMax = rowsMax(state);
      rows.push(
        ...(await older.countGroups(cut, { projectId, condition, range, bounds, split, values, groupsMax })),
      );
    }
    return rows;
  }

  async function forEachRow(state: State, range: MsRange, take: (row: CountRow) => void): Promise<void> {
    const query = {
      projectId: state.projectId,
      filter: { ...state.filter, ...range },
      order: "asc" as const,
    };
    for (let after: { ms: number; id: string } | null | undefined; after !== null; ) {
      state.signal?.throwIfAborted();
      const { rows, next } = await readPage({ ...query, ...(after && { after }) }, runRows);
      for (const row of rows) take(row);
      after = next;
    }
  }
}

/** If a query returns this many groups, the split has too many values. */
function rowsMax({ buckets }: State): number {
  return (limits.statsSplitValues + 1) * buckets.length + 1;
}

/** A value if the query looks at it, otherwise null. */
function lookedAtSql(value: string, values: string): string {
  return `CASE WHEN ${values}::text[] IS NULL OR ${value} = ANY(${values}) THEN ${value} END`;
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

function memberSql(member: "channelId" | "name"): string {
  return `(('{' || body || '}')::json ->> '${member}')`;
}
