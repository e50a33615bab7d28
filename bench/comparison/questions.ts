import { channelCount } from "../events.ts";
import { dayMs } from "../month.ts";
import { rareWord } from "./events.ts";

export const engines = ["postgres", "duckdb", "clickhouse"] as const;
export type Engine = (typeof engines)[number];
export type Range = { startMs: number; endMs: number };

/** A question to all stores: requests to Tidings, and queries that say the same, sent in turn. */
export type Question = {
  what: string;
  paths: (range: Range) => string[];
  queries: (engine: Engine, range: Range) => string[];
  /** What both must say: the milliseconds of a page's events, or the numbers of a chart. */
  ofTidings: (response: never) => number[];
  ofSql: (rows: (string | number)[][], range: Range) => number[];
};

const hourMs = 3_600_000;
/** Values of the rare tag that are asked for in turn. */
const amounts = Array.from({ length: 20 }, (_, number) => String((number * 31) % 99_991));
const channels = Array.from({ length: channelCount }, (_, number) => `channel-${number}`);

const whole = "ms, id, channel, name, user_id, description, icon, tags";
const pageOf = (condition: string) =>
  `SELECT ${whole} FROM events ${condition && `WHERE ${condition}`} ORDER BY ms DESC LIMIT 50`;
const page = {
  ofTidings: (({ events }: { events: { createdAt: string }[] }) =>
    events.map(({ createdAt }) => Date.parse(createdAt))) as never,
  ofSql: (rows: (string | number)[][]) => rows.map(([ms]) => Number(ms)),
};

/** The condition for a word in the name, the description or a tag's value, with each engine's index if it has one. */
function hasWord(engine: Engine, word: string): string {
  if (engine === "postgres") return `words @@ to_tsquery('simple', '${word}')`;
  if (engine === "clickhouse")
    return `hasToken(lower(concat(name, ' ', description, ' ', arrayStringConcat(mapValues(tags), ' '))), '${word}')`;
  return `regexp_matches(concat_ws(' ', name, description, array_to_string(map_values(tags), ' ')), '(?i)\\b${word}\\b')`;
}

function hasTag(engine: Engine, key: string, value: string): string {
  if (engine === "postgres") return `tags @> '{"${key}":"${value}"}'`;
  if (engine === "clickhouse")
    return `has(arrayMap((k, v) -> concat(k, '=', v), mapKeys(tags), mapValues(tags)), '${key}=${value}')`;
  return `tags['${key}'] = '${value}'`;
}

/** The number of an hour or a day of the range. */
function bucketOf(engine: Engine, { startMs }: Range, bucketMs: number): string {
  const divide = { postgres: "/", duckdb: "//", clickhouse: "DIV" }[engine];
  return `(ms - ${startMs}) ${divide} ${bucketMs}`;
}

/** Puts rows of a bucket's number and its value in order. */
function bucketsOf(rows: (string | number)[][], { startMs, endMs }: Range, bucketMs: number): number[] {
  const values = new Array<number>((endMs - startMs) / bucketMs).fill(0);
  for (const [bucket, value] of rows) values[Number(bucket)] = Number(value);
  return values;
}

export const questions: Question[] = [
  {
    what: "the newest page of 50",
    paths: () => ["/api/events?limit=50"],
    queries: () => [pageOf("")],
    ...page,
  },
  {
    what: "a page of a channel",
    paths: () => channels.map((channel) => `/api/events?limit=50&channel=${channel}`),
    queries: () => channels.map((channel) => pageOf(`channel = '${channel}'`)),
    ...page,
  },
  {
    what: "a page of a frequent word (one event in eight)",
    paths: () => ["/api/events?limit=50&q=payment"],
    queries: (engine) => [pageOf(hasWord(engine, "payment"))],
    ...page,
  },
  {
    what: "a page of a rare word (one event in 9,973)",
    paths: () => [`/api/events?limit=50&q=${rareWord}`],
    queries: (engine) => [pageOf(hasWord(engine, rareWord))],
    ...page,
  },
  {
    what: "a page of a rare tag (one event in 99,991)",
    paths: () => amounts.map((amount) => `/api/events?limit=50&tag.amount=${amount}`),
    queries: (engine) => amounts.map((amount) => pageOf(hasTag(engine, "amount", amount))),
    ...page,
  },
  {
    what: "events by hour of a month",
    paths: ({ startMs, endMs }) => [`/api/stats?by=hour&from=${startMs}&to=${endMs}`],
    queries: (engine, range) => [
      `SELECT ${bucketOf(engine, range, hourMs)} AS bucket, count(*) FROM events
       WHERE ms >= ${range.startMs} AND ms < ${range.endMs} GROUP BY bucket`,
    ],
    ofTidings: (({ series }: { series: { counts: number[] }[] }) => series[0]!.counts) as never,
    ofSql: (rows, range) => bucketsOf(rows, range, hourMs),
  },
  {
    what: "different users by day of a month",
    paths: ({ startMs, endMs }) => [`/api/stats?metric=users&by=day&from=${startMs}&to=${endMs}`],
    queries: (engine, range) => [
      `SELECT ${bucketOf(engine, range, dayMs)} AS bucket, count(DISTINCT user_id) FROM events
       WHERE ms >= ${range.startMs} AND ms < ${range.endMs} AND user_id <> '' GROUP BY bucket`,
    ],
    ofTidings: (({ values }: { values: number[] }) => values) as never,
    ofSql: (rows, range) => bucketsOf(rows, range, dayMs),
  },
];
