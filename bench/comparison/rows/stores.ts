import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { runReads } from "../../generators.ts";
import { dayMs, monthDays, postBatches } from "../../month.ts";
import { copyDatabase } from "../../postgres.ts";
import { deleteFolder, makeFolder, root, spawnAndKeep, stop } from "../../processes.ts";
import { startTidings, startTidingsOnPostgres, type Tidings } from "../../servers.ts";
import { count, formatColumns, milliseconds } from "../../table.ts";
import { startClickHouse } from "../clickhouse.ts";
import { type Size, storedEventOf } from "../events.ts";
import { type Engine, engines, type Question, questions, type Range } from "../questions.ts";
import type { Row, RowOptions } from "../row.ts";

const batchEvents = 1_000;
const columnsOf = (events: number) => [
  `${count(events)} events`,
  "Tidings (SQLite)",
  "Tidings (PostgreSQL)",
  "PostgreSQL, `tsvector` and GIN",
  "DuckDB",
  "ClickHouse",
];

type Timed = { p50Ms: number; p99Ms: number };

/** A run is to take no longer with long events than with short ones. */
const shares: Record<Size, number> = { short: 1, long: 0.25 };

/** The bytes that the same events take in each store, and how long each needs for the same questions. */
export function stores(size: Size): Row {
  return async (all) => {
    const options = { ...all, events: Math.floor(all.events * shares[size]) };
    const endMs = Math.floor(Date.now() / dayMs) * dayMs;
    const range = { startMs: endMs - monthDays * dayMs, endMs };
    const folder = await makeFolder();
    const stops: (() => Promise<void>)[] = [() => deleteFolder(folder)];
    try {
      const file = await writeEvents(join(folder, "events.ndjson"), size, range, options);
      async function startAndLoad(start: () => Promise<Tidings>): Promise<Tidings> {
        const server = await start();
        stops.push(server.stop);
        await loadTidings(server, file, options);
        return server;
      }
      async function startOthers() {
        const clickHouse = await startClickHouse(folder).catch((error: Error) => {
          options.log(`ClickHouse is left out: ${error.message}`);
          return null;
        });
        if (clickHouse) stops.push(clickHouse.stop);
        const sql = await openSql(folder, file, clickHouse?.url ?? null);
        stops.push(sql.close);
        return { clickHouse, sql };
      }
      // Loading isn't measured, so it may overlap.
      const [onSqlite, onPostgres, { clickHouse, sql }] = await Promise.all([
        startAndLoad(startTidings),
        startAndLoad(() => startTidingsOnPostgres(1)),
        startOthers(),
      ]);
      const tidings = [onSqlite, onPostgres];

      const bytes = [
        ...(await Promise.all(tidings.map((server) => server.diskBytes()))),
        ...engines.map((engine) => sql.bytes[engine]),
      ];
      const bytesEach = bytes.map((all) =>
        all === undefined ? "not measured" : count(all / options.events),
      );
      const rows = [["stored bytes an event, with all indexes", ...bytesEach]];
      for (const question of questions) {
        rows.push(await ask(question, { tidings, sql, range, hasClickHouse: clickHouse !== null }, options));
        options.log(rows.at(-1)!.join(" | "));
      }
      const version = clickHouse ? `ClickHouse ${clickHouse.version}` : "without ClickHouse";
      return {
        table: formatColumns(columnsOf(options.events), rows),
        failed: 0,
        sources: `${version}, in process by chDB`,
      };
    } finally {
      for (const each of stops.toReversed()) await each();
    }
  };
}

/** Writes an event on each line. */
async function writeEvents(
  path: string,
  size: Size,
  { startMs }: Range,
  { events }: RowOptions,
): Promise<string> {
  const writer = Bun.file(path).writer();
  for (let number = 0; number < events; number++) {
    writer.write(`${JSON.stringify(storedEventOf(number, size, { startMs, count: events }))}\n`);
    if (number % batchEvents === 0) await writer.flush();
  }
  await writer.end();
  return path;
}

/** Posts all events in batches, waits for the work that follows, and verifies that all are there. */
async function loadTidings(server: Tidings, file: string, { events, log }: RowOptions): Promise<void> {
  let batch: string[] = [];
  const post = async () => {
    const bodies: string[] = [];
    for (let from = 0; from < batch.length; from += batchEvents)
      bodies.push(`[${batch.slice(from, from + batchEvents).join(",")}]`);
    batch = [];
    await postBatches(server, bodies);
  };
  for await (const line of createInterface({ input: Readable.fromWeb(Bun.file(file).stream() as never) })) {
    if (batch.push(line) === 50 * batchEvents) await post();
  }
  await post();
  const stored = await server.countEvents();
  if (stored !== events)
    throw new Error(`${events} events were sent in batches, and the server holds ${stored}.`);
  await server.settle();
  log(`Tidings holds the ${count(events)} events`);
}

type Sql = {
  bytes: Partial<Record<Engine, number>>;
  ask: (
    store: Engine,
    queries: string[],
    durationMs: number,
  ) => Promise<Timed & { rows: (string | number)[][][] }>;
  close: () => Promise<void>;
};

/** Copies the events into the other stores, in a process that answers questions. */
async function openSql(folder: string, file: string, clickHouseUrl: string | null): Promise<Sql> {
  const database = await copyDatabase(null);
  const child = spawnAndKeep({ command: ["node", "comparison/stores.mjs"], cwd: join(root, "bench") });
  const answers = createInterface({ input: Readable.fromWeb(child.stdout as never) })[Symbol.asyncIterator]();
  async function call<Answer>(line: object): Promise<Answer> {
    child.stdin.write(`${JSON.stringify(line)}\n`);
    await child.stdin.flush();
    const answer = await answers.next();
    if (answer.done) throw new Error(`stores.mjs ended:\n${await new Response(child.stderr).text()}`);
    return JSON.parse(answer.value) as Answer;
  }
  const { bytes } = await call<Pick<Sql, "bytes">>({
    folder,
    file,
    databaseUrl: database.url,
    clickHouseUrl,
  });
  return {
    bytes,
    ask: (store, queries, durationMs) => call({ store, queries, durationMs }),
    async close() {
      await stop(child);
      await database.drop();
    },
  };
}

type Loaded = { tidings: Tidings[]; sql: Sql; range: Range; hasClickHouse: boolean };

/** Asks all stores in turn. Throws if one says something else than the first. */
async function ask(question: Question, loaded: Loaded, { seconds }: RowOptions): Promise<string[]> {
  const { what, paths, queries, ofTidings, ofSql } = question;
  const { range } = loaded;
  const durationMs = (seconds * 1_000) / 2;
  const cells: string[] = [];
  let expected: string | undefined;
  const compare = (name: string, results: number[][]) => {
    if (results[0]!.length === 0) throw new Error(`${name} says nothing: ${what}`);
    const said = JSON.stringify(results);
    expected ??= said;
    if (said !== expected)
      throw new Error(`${what}: ${name} says ${said.slice(0, 300)}, and Tidings ${expected.slice(0, 300)}`);
  };
  for (const server of loaded.tidings) {
    const results: number[][] = [];
    for (const path of paths(range)) results.push(ofTidings((await get(server, path)) as never));
    compare("Tidings", results);
    const times = { connections: 1, warmupMs: durationMs / 10, durationMs };
    cells.push(cellOf(await runReads(server, paths(range), times)));
  }
  for (const engine of engines) {
    if (engine === "clickhouse" && !loaded.hasClickHouse) {
      cells.push("not measured");
      continue;
    }
    const { rows, ...timed } = await loaded.sql.ask(engine, queries(engine, range), durationMs);
    compare(
      engine,
      rows.map((each) => ofSql(each, range)),
    );
    cells.push(cellOf(timed));
  }
  return [what, ...cells];
}

const cellOf = ({ p50Ms, p99Ms }: Timed) => `${milliseconds(p50Ms)}, p99 ${milliseconds(p99Ms)}`;

async function get({ ports, apiKey }: Tidings, path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${ports[0]}${path}`, { headers: { "x-api-key": apiKey } });
  const text = await response.text();
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
