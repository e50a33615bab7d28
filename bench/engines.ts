/**
 * Measures a storage engine at a number of events, so that engines can be compared. The environment says which, as it does
 * to the server: `DATABASE_URL` and `CLICKHOUSE_URL`, `DATABASE_URL` alone, or neither for SQLite in `TIDINGS_DATA`. It goes
 * in pieces:
 *
 *   bun bench/engines.ts serve                     starts both servers, prints their addresses, and stays
 *   bun bench/engines.ts fill --events 10000000    goes on filling until there are so many events
 *   bun bench/engines.ts copy --times 9            has ClickHouse copy these events so many times
 *   bun bench/engines.ts measure                   prints the table
 *   bun bench/engines.ts measure --only users      prints its lines about users
 *
 * Events go in by the store's own batches, without HTTP. Those for ClickHouse move there by the shipping code, and rows that
 * moved are deleted at once. The server answers the questions over HTTP.
 *
 * Copies are for numbers that would take hours: they have IDs and milliseconds of their own, and ten times as many users,
 * but stay in the blocks of what they copy. Charts of PostgreSQL's counters don't count them.
 */
import { parseArgs } from "node:util";
import { readConfig } from "../server/config/config.ts";
import { eventIdOf } from "../server/event/id.ts";
import { openStore } from "../server/process/open-store.ts";
import { createProject } from "../server/projects/projects.ts";
import { serve } from "../server/serve.ts";
import { openClickHouse } from "../server/storage/clickhouse/index.ts";
import { openPostgresStore } from "../server/storage/postgres/index.ts";
import { acceptedEvent } from "../server/testing/accepted-event.ts";
import { startClickHouse } from "../server/testing/clickhouse.ts";
import { testWatch } from "../server/testing/engine.ts";
import { startPostgres } from "../server/testing/postgres.ts";
import { createTestKey } from "../server/testing/test-key.ts";
import { channelCount, eventOf, userCount } from "./events.ts";
import { dayMs, monthDays } from "./month.ts";

const project = "Bench of engines";
const batchEvents = 5_000;
const blockEvents = 50_000;
/** Between two reports, and between two moves to ClickHouse. */
const roundEvents = 250_000;
/** The month ends here, so that a later run continues the same month. */
const endMs = Date.UTC(2026, 9, 31);
const startMs = endMs - monthDays * dayMs;
const questionMs = 5_000;
/** A question that takes so long is not repeated. */
const longQuestionMs = 20_000;

async function serveBoth(): Promise<void> {
  const settings = { shared_buffers: "512MB", max_wal_size: "4GB" };
  const [postgres, clickHouse] = await Promise.all([
    startPostgres({ durable: true, settings }),
    startClickHouse(),
  ]);
  const { url } = await postgres.database();
  console.log(`export DATABASE_URL='${url}' CLICKHOUSE_URL='${await clickHouse.database()}'`);
  await new Promise((resolve) => process.once("SIGTERM", resolve).once("SIGINT", resolve));
  await Promise.all([postgres.remove(), clickHouse.remove()]);
  process.exit(0);
}

/** The store. With ClickHouse, it moves events as they come and keeps none of them. */
async function openBench() {
  const config = readConfig(process.env);
  const { databaseUrl, clickhouseUrl } = config;
  const moving = { events: blockEvents, keepMs: 0, announceMs: 0 };
  const store =
    databaseUrl && clickhouseUrl
      ? await openPostgresStore(
          { url: databaseUrl, connections: 5 },
          testWatch,
          undefined,
          undefined,
          openClickHouse(clickhouseUrl, moving),
        )
      : await openStore(config, testWatch);
  const { control } = store;
  const known = await control
    .selectFrom("projects")
    .select("id")
    .where("name", "=", project)
    .executeTakeFirst();
  const projectId = known?.id ?? (await createProject(control, project, null)).id;
  return {
    store,
    projectId,
    async countEvents(): Promise<number> {
      const rows = await control
        .selectFrom("channels")
        .select("events")
        .where("projectId", "=", projectId)
        .execute();
      return rows.reduce((sum, { events }) => sum + events, 0);
    },
    isClickHouse: clickhouseUrl !== null,
    async clickHouse(sql: string): Promise<string> {
      if (!clickhouseUrl) throw new Error("Set DATABASE_URL and CLICKHOUSE_URL.");
      const { origin, pathname } = new URL(clickhouseUrl);
      const database = `database=${pathname.slice(1)}`;
      return (await (await fetch(`${origin}?${database}`, { method: "POST", body: sql })).text()).trim();
    },
  };
}

async function fill(events: number): Promise<void> {
  const { store, projectId, countEvents, isClickHouse, clickHouse } = await openBench();
  let done = await countEvents();
  while (done < events) {
    const round = Math.min(roundEvents, events - done);
    const appendedMs = await timed(async () => {
      for (let from = done; from < done + round; from += batchEvents) {
        const length = Math.min(batchEvents, done + round - from);
        await store.events.appendAll(
          Array.from({ length }, (_, at) => {
            const { channel, ...event } = eventOf(from + at);
            const number = from + at;
            const ms = startMs + Math.floor((number / events) * (endMs - startMs));
            const arrival = { ms, sequence: number % 1_000 };
            return acceptedEvent({
              projectId,
              arrival,
              event: { ...event, id: eventIdOf(arrival), channelId: channel },
            });
          }),
        );
      }
    });
    const shippedMs = await timed(() => store.events.indexBlocks(async () => {}, Date.now()));
    done += round;
    const rate = (ms: number) => `${Math.round(round / (ms / 1_000)).toLocaleString("en")}/s`;
    console.log(
      `${done.toLocaleString("en")} events: stored ${rate(appendedMs)}, ${isClickHouse ? "moved" : "indexed"} ${rate(shippedMs)}`,
    );
  }
  await store.events.indexBlocks(async () => {}, Date.now() + dayMs);
  if (isClickHouse) console.log(`${await clickHouse("SELECT count() FROM events")} events are in ClickHouse`);
  await store.close();
}

/** Copies all events that were filled, each time into other milliseconds of the same month. */
async function copy(times: number): Promise<void> {
  const { store, clickHouse } = await openBench();
  const original = "position(user, '-') = 0";
  // The last 52 bits of an ID are random.
  const [kept, random] = [0xfffn << 52n, 2n ** 52n - 1n];
  const [done, all] = [Number(await clickHouse("SELECT count() FROM events")), await count(original)];
  for (let copy = done / all; copy <= times; copy++) {
    const copiedMs = await timed(() =>
      clickHouse(
        `INSERT INTO events SELECT project, created + ${copy} % 1000, id_hi,
           bitOr(bitAnd(id_lo, ${kept}), bitAnd(cityHash64(id_lo, ${copy}), ${random})), arrival, block, notified, name, channel, concat(user, '-', toString(${copy} % 10)), icon, notify, tags, event,
           description, body, more_tokens
         FROM events WHERE ${original} SETTINGS insert_deduplicate = 0, max_partitions_per_insert_block = 0`,
      ),
    );
    console.log(
      `copy ${copy} of ${times}: ${Math.round(all / (copiedMs / 1_000)).toLocaleString("en")} events/s`,
    );
  }
  await store.close();

  async function count(condition: string): Promise<number> {
    return Number(await clickHouse(`SELECT count() FROM events WHERE ${condition}`));
  }
}

/** Pages of 50, and charts of the month. */
const questions: readonly [what: string, path: (number: number) => string][] = [
  ["no filter", () => "/api/events?limit=50"],
  ["a channel", (n) => `/api/events?limit=50&channel=channel-${n % channelCount}`],
  ["a user", (n) => `/api/events?limit=50&userId=user_${(n * 7_919) % userCount}`],
  ["a tag of few events", (n) => `/api/events?limit=50&tag.amount=${n * 31}`],
  ["a channel and a tag", (n) => `/api/events?limit=50&channel=channel-${n % channelCount}&tag.plan=pro`],
  ["two tags that never meet", () => "/api/events?limit=50&tag.plan=plus&tag.origin=web"],
  ["words", () => "/api/events?limit=50&q=payment%20failed"],
  ["a phrase", () => `/api/events?limit=50&q=${encodeURIComponent('"payment received"')}`],
  ["a prefix", () => "/api/events?limit=50&q=pa*"],
  ["a negation", () => "/api/events?limit=50&q=-origin%3Dweb"],
  ["a rare number", (n) => `/api/events?limit=50&q=amount%3A${n * 900}..${n * 900 + 1}`],
  ["events by day", () => `/api/stats?by=day&${month}`],
  ["events by day and channel", () => `/api/stats?by=day&split=channel&limit=20&${month}`],
  ["events of a search by day", () => `/api/stats?by=day&q=plan%3Dpro&${month}`],
  ["users by day", () => `/api/stats?metric=users&by=day&${month}`],
  ["users by day and channel", () => `/api/stats?metric=users&by=day&split=channel&limit=20&${month}`],
  ["sum of a tag by day and plan", () => `/api/stats?metric=sum&tag=amount&by=day&split=tag.plan&${month}`],
  [
    "funnel of three steps",
    () =>
      `/api/funnel?step=channel:channel-1&step=channel:channel-2&step=channel:channel-3&window=7d&${month}`,
  ],
  ["retention by week", () => `/api/retention?by=week&${month}`],
];
const month = `from=${startMs}&to=${endMs}`;

/** @param only - what the names of the questions that are asked contain */
async function measure(only: string): Promise<void> {
  const { store, projectId, countEvents, isClickHouse, clickHouse } = await openBench();
  const events = isClickHouse ? Number(await clickHouse("SELECT count() FROM events")) : await countEvents();
  const key = await createTestKey(store.control, projectId, { name: "bench", scopes: ["read"] });
  const per = (all: number) => `${Math.round(all / events)} bytes an event`;
  console.log(`${events.toLocaleString("en")} events; ${per(await store.bytes())} in the database`);
  if (isClickHouse) {
    const bytes = await clickHouse(
      "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'events' AND database = currentDatabase()",
    );
    console.log(`${per(Number(bytes))} in ClickHouse`);
  }
  const running = await serve(
    readConfig({ ...process.env, PORT: "0", HOST: "127.0.0.1", TIDINGS_LOG: "error" }),
    {
      isPassive: true,
    },
  );
  const ask = async (path: string) => {
    const response = await fetch(running.address + path, { headers: { "x-api-key": key } });
    const text = await response.text();
    if (response.status !== 200) console.log(`${path} was answered ${response.status}: ${text}`);
  };
  for (const [what, pathOf] of questions.filter(([what]) => what.includes(only))) {
    const times: number[] = [];
    const begun = performance.now();
    const isEnough = (n: number, ms: number) => ms > longQuestionMs || (n >= 3 && ms > questionMs);
    for (let n = 0; !isEnough(n, performance.now() - begun); n++)
      times.push(await timed(() => ask(pathOf(n))));
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) =>
      `${sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(0)} ms`;
    console.log(`${what}: median ${at(0.5)}, p99 ${at(0.99)} of ${times.length}`);
  }
  const after = { ms: startMs, sequence: 0 };
  const resumedMs = await timed(() => store.events.arrivedAfter(projectId, after, 500));
  console.log(`the first 500 events after an arrival of a month ago: ${resumedMs.toFixed(0)} ms`);
  await running.stop();
  await store.close();
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    events: { type: "string", default: "10000000" },
    times: { type: "string", default: "9" },
    only: { type: "string", default: "" },
  },
});
const [command] = positionals;
if (command === "serve") await serveBoth();
else if (command === "fill") await fill(Number(values.events));
else if (command === "copy") await copy(Number(values.times));
else if (command === "measure") await measure(values.only);
else
  throw new Error(
    "Usage: bun bench/engines.ts serve | fill [--events N] | copy [--times N] | measure [--only TEXT]",
  );
