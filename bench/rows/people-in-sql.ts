import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { CohortPreview } from "../../server/schemas/cohort.ts";
import type { Paths } from "../../server/schemas/paths.ts";
import type { Stats } from "../../server/schemas/stats.ts";
import { userCount } from "../events.ts";
import { joinedIds, joinUsers, postMessages } from "../joined.ts";
import { dayMs, type Month } from "../month.ts";
import { copyDatabase } from "../postgres.ts";
import { deleteFolder, makeFolder, root, spawnAndKeep, stop } from "../processes.ts";
import { processorMs } from "../processor.ts";
import { count, type Line, median, milliseconds, type RowOptions } from "../table.ts";

const databases = ["sqlite", "postgres", "duckdb"] as const;
const databaseNames = { sqlite: "SQLite", postgres: "PostgreSQL", duckdb: "DuckDB" };

const plans = ["free", "team", "premium"];
/** Questions with a figure of a few milliseconds are asked so often in a round. */
const asked = 5;

type Question = {
  what: string;
  path: (month: Month) => string;
  body?: object;
  /** The numbers that both must say. */
  numbers: (response: never) => number[];
  sql: (month: Month) => string;
};

const conditions = [
  { type: "property", name: "plan", test: "is", values: ["premium"] },
  { type: "events", q: "", atLeast: 12 },
  { type: "events", q: "channel:channel-3", atMost: 0 },
];
/** Events with the person of each. */
const mine =
  "SELECT coalesce(people.person, events.user) AS person, ms, channel, name FROM events LEFT JOIN people ON people.id = events.user WHERE events.user <> ''";
const members = `SELECT person FROM (
    SELECT person, count(*) AS times, sum(CASE WHEN channel = 'channel-3' THEN 1 ELSE 0 END) AS others
    FROM (${mine}) AS mine GROUP BY person
  ) AS counted JOIN users ON users.id = counted.person WHERE times >= 12 AND others = 0 AND plan = 'premium'`;
const range = ({ startMs, endMs }: Month) => `from=${startMs}&to=${endMs}`;

const ofCohorts: Question[] = [
  {
    what: "how many people three conditions describe",
    path: () => "/api/cohorts/preview",
    body: { conditions },
    numbers: (({ people }: CohortPreview) => [people]) as never,
    sql: () => `SELECT count(*) FROM (${members}) AS members`,
  },
  {
    what: "events and people of a cohort by day",
    path: (month) => `/api/stats?metric=users&by=day&q=cohort:Measured&${range(month)}`,
    numbers: (({ total, overall }: Stats) => [total, overall!]) as never,
    // A developer would keep the members in a table, as Tidings does.
    sql: ({ startMs, endMs }) => `SELECT sum(events), max(overall) FROM (
      SELECT (ms - ${startMs}) / ${dayMs} AS day, count(*) AS events, count(DISTINCT mine.person) AS people,
        (SELECT count(DISTINCT mine.person) FROM (${mine} AND ms >= ${startMs} AND ms < ${endMs}) AS mine
         JOIN members ON members.person = mine.person) AS overall
      FROM (${mine} AND ms >= ${startMs} AND ms < ${endMs}) AS mine JOIN members ON members.person = mine.person
      GROUP BY 1) AS days`,
  },
];

const stepUsers = ({ nodes }: Paths) =>
  [1, 2, 3].map((step) =>
    nodes.filter((node) => node.step === step).reduce((sum, { users }) => sum + users, 0),
  );

const ofPaths: Question[] = [
  {
    what: "paths of three steps",
    path: (month) =>
      `/api/paths?anchor=channel:channel-1&q=-channel:channel-1&length=3&repeats=keep&names=10&window=1d&${range(month)}`,
    numbers: stepUsers as never,
    sql: ({ startMs, endMs }) => `WITH mine AS (${mine} AND ms >= ${startMs} AND ms < ${endMs}), anchors AS (
        SELECT person, min(ms) AS first FROM mine WHERE channel = 'channel-1' GROUP BY person
      ), numbered AS (
        SELECT row_number() OVER (PARTITION BY mine.person ORDER BY ms, name) AS step
        FROM anchors JOIN mine ON mine.person = anchors.person
        WHERE ms >= first AND ms <= first + ${dayMs} AND channel <> 'channel-1'
      ) SELECT sum(CASE WHEN step = 1 THEN 1 ELSE 0 END), sum(CASE WHEN step = 2 THEN 1 ELSE 0 END),
          sum(CASE WHEN step = 3 THEN 1 ELSE 0 END) FROM numbered`,
  },
];

/** Conditions on people, and the events of a cohort, beside the same in SQL. */
export const cohorts = (options: RowOptions) => measureAll("cohorts", ofCohorts, options);
/** Paths of people, beside the same in SQL. */
export const paths = (options: RowOptions) => measureAll("paths", ofPaths, options);

/** Asks all in turn, in each round, and compares the processor time. */
async function measureAll(row: string, questions: Question[], options: RowOptions): Promise<Line[]> {
  const { events, rounds, month, quick, log } = options;
  const loaded = await month();
  const { ids } = await joinUsers(loaded, options);
  const people = quick ? 100 : userCount;
  await setPlans(loaded, people);
  await createCohort(loaded);
  const sql = await openSql(loaded, { ids, people });
  const lines: Line[] = [];
  try {
    for (const question of questions) {
      const { what } = question;
      await compare(loaded, question, sql);
      const own: number[] = [];
      const ofSql = { sqlite: [] as number[], postgres: [] as number[], duckdb: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        const before = processorMs(loaded.server.pids);
        for (let time = 0; time < asked; time++) await ask(loaded, question);
        own.push((processorMs(loaded.server.pids) - before) / asked);
        for (const database of databases)
          ofSql[database].push((await sql.ask(database, question.sql(loaded))).cpuMs);
      }
      const measured = Math.max(median(own), 1);
      const against = databases.map(
        (database) =>
          `${databaseNames[database]} ${milliseconds(median(ofSql[database]))} (${(median(ofSql[database]) / measured).toPrecision(2)} times)`,
      );
      lines.push({
        what: `${row}: processor time of ${what} at ${count(events)} events with ${count(ids)} joined IDs`,
        measured: milliseconds(measured),
        figures: `SQL on ${against.join(", on ")}; lowest and highest ${milliseconds(Math.min(...own))} and ${milliseconds(Math.max(...own))}`,
      });
      log(`${row}: ${what}: ${milliseconds(measured)}; SQL on ${against.join(", ")}`);
    }
  } finally {
    await sql.close();
  }
  return lines;
}

async function ask({ server, ...month }: Month, { what, path, body, numbers }: Question): Promise<number[]> {
  const response = await fetch(`http://127.0.0.1:${server.ports[0]}${path({ server, ...month })}`, {
    headers: { "x-api-key": server.apiKey, "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${what}: the server answered ${response.status}: ${text}`);
  return numbers(JSON.parse(text) as never);
}

/** Verifies that all say the same. */
async function compare(month: Month, question: Question, sql: Sql): Promise<void> {
  const own = await ask(month, question);
  for (const database of databases) {
    const { rows } = await sql.ask(database, question.sql(month));
    if (JSON.stringify(rows[0]) !== JSON.stringify(own))
      throw new Error(`${question.what}: ${JSON.stringify(own)}, and ${database} ${JSON.stringify(rows)}`);
  }
}

/** Sets a property of all people. */
async function setPlans(month: Month, people: number): Promise<void> {
  await postMessages(
    month,
    plansOf(people).map(([userId, plan]) => ({ event: "$set", distinct_id: userId, $set: { plan } })),
  );
}

/** IDs that are joined to others are none of their own: whoever sets their properties sets those of the person. */
function plansOf(people: number): [userId: string, plan: string][] {
  return Array.from({ length: Math.floor(people * 0.7) }, (_, number) => [
    `user_${number}`,
    plans[number % plans.length]!,
  ]);
}

async function createCohort({ server: { ports, apiKey } }: Month): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ports[0]}/api/cohorts`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: JSON.stringify({ name: "Measured", conditions }),
  });
  // It is there already if another row has made it.
  if (response.status !== 201 && response.status !== 409)
    throw new Error(`POST /api/cohorts answered ${response.status}: ${await response.text()}`);
}

type Database = (typeof databases)[number];
type Sql = {
  ask: (database: Database, query: string) => Promise<{ cpuMs: number; rows: number[][] }>;
  close: () => Promise<void>;
};

/** Copies all events into plain tables, with who is who and the property. */
async function openSql(month: Month, { ids, people }: { ids: number; people: number }): Promise<Sql> {
  const folder = await makeFolder();
  const database = await copyDatabase(null);
  const file = join(folder, "events.ndjson");
  const { ports, apiKey } = month.server;
  const listing = await fetch(`http://127.0.0.1:${ports[0]}/api/events?format=ndjson`, {
    headers: { "x-api-key": apiKey },
  });
  await Bun.write(file, listing);
  const child = spawnAndKeep({ command: ["node", "sql-people.mjs"], cwd: join(root, "bench") });
  const answers = createInterface({ input: Readable.fromWeb(child.stdout as never) })[Symbol.asyncIterator]();
  async function call<Answer>(line: object): Promise<Answer> {
    child.stdin.write(`${JSON.stringify(line)}\n`);
    await child.stdin.flush();
    const answer = await answers.next();
    if (answer.done) throw new Error(`sql-people.mjs ended:\n${await new Response(child.stderr).text()}`);
    return JSON.parse(answer.value) as Answer;
  }
  await call({
    ...{ folder, file, databaseUrl: database.url, members },
    ...{ people: joinedIds(ids), users: plansOf(people) },
  });
  return {
    ask: (database, query) => call({ database, query }),
    async close() {
      await stop(child);
      await database.drop();
      await deleteFolder(folder);
    },
  };
}
