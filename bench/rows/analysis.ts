import { join } from "node:path";
import type { Funnel } from "../../server/schemas/funnel.ts";
import type { Paths } from "../../server/schemas/paths.ts";
import type { Stats } from "../../server/schemas/stats.ts";
import { runReads } from "../generators.ts";
import { dayMs, type Month } from "../month.ts";
import { copyDatabase } from "../postgres.ts";
import { deleteFolder, makeFolder, root, run } from "../processes.ts";
import { count, type Line, milliseconds, type RowOptions } from "../table.ts";

type Timed = { ms: number[]; rows: number[][] };
type Question = {
  what: string;
  path: string;
  /** The same question over a plain table, in the dialect that SQLite and, nearly, the others share. Its range is all of the month. */
  sql: (month: Month) => string;
  /** What both must say. */
  check?: { ofTidings: (response: never) => number; ofSql: (rows: number[][]) => number };
};

const inMonth = ({ startMs, endMs }: Month) => `ms >= ${startMs} AND ms < ${endMs}`;
const overall = (response: Stats) => response.overall!;
const largest = (column: number) => (rows: number[][]) => Math.max(...rows.map((row) => row[column]!));
const total = (column: number) => (rows: number[][]) => rows.reduce((sum, row) => sum + row[column]!, 0);

const questions: Question[] = [
  {
    what: "users by day",
    path: "/api/stats?metric=users&by=day",
    sql: (month) =>
      `SELECT (ms - ${month.startMs}) / ${dayMs} AS day, count(DISTINCT user),
         (SELECT count(DISTINCT user) FROM events WHERE ${inMonth(month)} AND user <> '')
       FROM events WHERE ${inMonth(month)} AND user <> '' GROUP BY 1`,
    check: { ofTidings: overall as never, ofSql: largest(2) },
  },
  {
    what: "users by day and channel",
    path: "/api/stats?metric=users&by=day&split=channel&limit=20",
    sql: (month) =>
      `SELECT (ms - ${month.startMs}) / ${dayMs} AS day, channel, count(DISTINCT user)
       FROM events WHERE ${inMonth(month)} AND user <> '' GROUP BY 1, 2`,
  },
  {
    what: "the sum of a tag by day and plan",
    path: "/api/stats?metric=sum&tag=amount&by=day&split=tag.plan",
    sql: (month) =>
      `SELECT (ms - ${month.startMs}) / ${dayMs} AS day, sum(amount), plan
       FROM events WHERE ${inMonth(month)} GROUP BY 1, 3`,
    check: { ofTidings: overall as never, ofSql: total(1) },
  },
  {
    what: "a funnel of three steps",
    path: "/api/funnel?step=channel:channel-1&step=channel:channel-2&step=channel:channel-3&window=7d",
    // Only the first attempt of each user: following every attempt takes several times as long.
    sql: (month) =>
      `WITH one AS (
         SELECT user, min(ms) AS first FROM events
         WHERE ${inMonth(month)} AND channel = 'channel-1' AND user <> '' GROUP BY user
       ), two AS (
         SELECT one.user, first, min(ms) AS second FROM one JOIN events ON events.user = one.user
         WHERE ${inMonth(month)} AND channel = 'channel-2' AND ms >= first AND ms <= first + ${7 * dayMs} GROUP BY 1, 2
       ), three AS (
         SELECT two.user, first, second, min(ms) AS third FROM two JOIN events ON events.user = two.user
         WHERE ${inMonth(month)} AND channel = 'channel-3' AND ms >= second AND ms <= first + ${7 * dayMs}
         GROUP BY 1, 2, 3
       ) SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two), (SELECT count(*) FROM three)`,
    check: { ofTidings: ((funnel: Funnel) => funnel.steps[0]!.users) as never, ofSql: largest(0) },
  },
  {
    what: "retention by week",
    path: "/api/retention?by=week",
    sql: (month) =>
      `WITH weeks AS (
         SELECT DISTINCT user, (ms - ${month.startMs}) / ${7 * dayMs} AS week FROM events
         WHERE ${inMonth(month)} AND user <> ''
       ), firsts AS (SELECT user, min(week) AS first FROM weeks GROUP BY user)
       SELECT first, week, count(*) FROM weeks JOIN firsts ON firsts.user = weeks.user GROUP BY 1, 2`,
  },
  {
    what: "paths of three steps",
    path: "/api/paths?anchor=channel:channel-1&q=-channel:channel-1&length=3&repeats=keep&names=10&window=1d",
    sql: (month) =>
      `WITH anchors AS (
         SELECT user, min(ms) AS first FROM events
         WHERE ${inMonth(month)} AND channel = 'channel-1' AND user <> '' GROUP BY user
       ), numbered AS (
         SELECT events.user, name, row_number() OVER (PARTITION BY events.user ORDER BY ms, name) AS step
         FROM anchors JOIN events ON events.user = anchors.user
         WHERE ${inMonth(month)} AND ms >= first AND ms <= first + ${dayMs} AND channel <> 'channel-1'
       ), paths AS (
         SELECT user, max(CASE WHEN step = 1 THEN name END) AS one, max(CASE WHEN step = 2 THEN name END) AS two,
           max(CASE WHEN step = 3 THEN name END) AS three
         FROM numbered WHERE step <= 3 GROUP BY user
       ) SELECT count(*), one, two, three FROM paths GROUP BY 2, 3, 4`,
    check: {
      ofTidings: (({ nodes }: Paths) => nodes[0]!.users - nodes[0]!.ended!) as never,
      ofSql: total(0),
    },
  },
];

/** Metrics, funnels, retention and paths over a month, beside SQL over a plain table. */
export async function analysis({ seconds, events, quick, month, log }: RowOptions): Promise<Line[]> {
  const loaded = await month();
  const durationMs = (seconds * 1_000) / 4;
  const plain = await measureSql(loaded, quick ? 1 : durationMs);
  const lines: Line[] = [];
  for (const { what, path: start, check } of questions) {
    const path = `${start}&from=${loaded.startMs}&to=${loaded.endMs}`;
    const sql = plain[what]!;
    if (check) await compareResults(loaded, path, check, sql);
    const { p50Ms, p99Ms, counted } = await runReads(loaded.server, [path], {
      connections: 1,
      warmupMs: quick ? 10 : 300,
      durationMs,
    });
    const against = (name: string, { ms }: Timed) =>
      `${name} ${milliseconds(medianOf(ms))} (${(medianOf(ms) / p50Ms).toPrecision(2)} times)`;
    lines.push({
      what: `analysis: ${what} at ${count(events)} events, p99`,
      measured: milliseconds(p99Ms),
      bar: events > 1_000_000 ? "1 s" : "150 ms",
      aim: "–",
      figures: `p50 ${milliseconds(p50Ms)}; ${count(counted)} requests; SQL on ${against("SQLite", sql.sqlite)}, on ${against("PostgreSQL", sql.postgres)}, on ${against("DuckDB", sql.duckdb)}`,
    });
    log(`analysis: ${what}: p99 ${milliseconds(p99Ms)}`);
  }
  return lines;
}

type SqlResults = Record<string, Record<"sqlite" | "postgres" | "duckdb", Timed>>;

/** Copies all events into plain tables and asks the questions there. */
async function measureSql(loaded: Month, durationMs: number): Promise<SqlResults> {
  const folder = await makeFolder();
  const database = await copyDatabase(null);
  try {
    const file = join(folder, "events.ndjson");
    const { ports, apiKey } = loaded.server;
    const listing = await fetch(`http://127.0.0.1:${ports[0]}/api/events?format=ndjson`, {
      headers: { "x-api-key": apiKey },
    });
    await Bun.write(file, listing);
    const queries = Object.fromEntries(questions.map(({ what, sql }) => [what, sql(loaded)]));
    const output = await run({
      command: ["node", "sql-analysis.mjs"],
      cwd: join(root, "bench"),
      stdin: JSON.stringify({ folder, file, databaseUrl: database.url, queries, durationMs }),
    });
    return JSON.parse(output) as SqlResults;
  } finally {
    await database.drop();
    await deleteFolder(folder);
  }
}

/** Verifies that all say the same. */
async function compareResults(
  { server }: Month,
  path: string,
  { ofTidings, ofSql }: NonNullable<Question["check"]>,
  { sqlite, postgres, duckdb }: SqlResults[string],
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.ports[0]}${path}`, {
    headers: { "x-api-key": server.apiKey },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${text}`);
  const results = [
    ofTidings(JSON.parse(text) as never),
    ofSql(sqlite.rows),
    ofSql(postgres.rows),
    ofSql(duckdb.rows),
  ];
  if (new Set(results).size > 1)
    throw new Error(
      `GET ${path} says ${results[0]}, SQLite ${results[1]}, PostgreSQL ${results[2]} and DuckDB ${results[3]}.`,
    );
}

function medianOf(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}
