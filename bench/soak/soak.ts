/**
 * Runs Tidings for a long time under a steady load with everything on: rules, monitors, heartbeats, an open board,
 * live streams, webhooks, imports, merged and erased users, events that expire, cohorts, and continuous backups. Each
 * minute it records memory, descriptors, disk, processor time and latencies. At the end it reads all events: each that
 * was acknowledged must be there once, and what expired or was erased must be gone. The same directory continues with
 * the data of earlier runs. Needs Linux.
 *
 * @example
 * npm run soak -- --minutes 1440 --data /srv/soak                  # a day at half of what the machine can do
 * npm run soak -- --minutes 60 --data /srv/soak --rate 150         # at a rate
 * npm run soak -- --minutes 60 --data /srv/soak-pg --postgres      # two nodes on PostgreSQL
 * npm run soak -- --minutes 60 --data /srv/soak --restart-minutes 10   # by SIGTERM and SIGKILL in turn
 * npm run soak -- --minutes 60 --data /srv/soak --memory-mb 512    # in a control group, as a container; needs root
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Servers } from "../kept-servers.ts";
import { Latencies } from "../latencies.ts";
import { Activities } from "./activities.ts";
import { formatSamples, judgeGrowth, type Sample } from "./growth.ts";
import { EventSet } from "./ledger.ts";
import { Posts } from "./posts.ts";
import { call, createKey, createSettings } from "./setup.ts";
import { loadState, type State, saveState } from "./state.ts";
import { Stream } from "./streams.ts";
import { verify } from "./verify.ts";

const minuteMs = 60_000;
const calibrationSeconds = 10;
const catchUpMs = 60_000;
const streamQueries = ["", "", "?channel=channel-1", "?q=plan%3Dplus", "?q=payment+failed", "?notify=true"];

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    data: { type: "string" },
    postgres: { type: "boolean", default: false },
    rate: { type: "string" },
    "restart-minutes": { type: "string" },
    "row-minutes": { type: "string", default: "60" },
    /** Of each server, as a container's limit. */
    "memory-mb": { type: "string" },
  },
});
if (!values.data) throw new Error("Name a directory with --data. Later runs continue with its data.");
const minutes = positive("minutes");
const rate = values.rate === undefined ? null : positive("rate");
const restartMinutes = values["restart-minutes"] === undefined ? null : positive("restart-minutes");
const rowMinutes = positive("row-minutes");
const memoryMb = values["memory-mb"] === undefined ? undefined : positive("memory-mb");
const directory = resolve(values.data);
mkdirSync(directory, { recursive: true });

let failed = true;
const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
const servers = await Servers.open(
  directory,
  values.postgres
    ? { engine: "postgres", nodes: 2, isBackedUp: false, memoryMb }
    : { engine: "sqlite", nodes: 1, isBackedUp: true, memoryMb },
);
/** Ctrl-C ends the run early, with its checks and its table. A second one ends it at once. */
let isInterrupted = false;
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, async () => {
    if (!isInterrupted) {
      isInterrupted = true;
      console.log("Ending the run. Once more ends it at once, without its checks.");
      return;
    }
    await servers.end("SIGKILL");
    process.exit(130);
  });
try {
  failed = !(await soak());
} finally {
  await servers.close();
  receiver.stop(true);
}
process.exit(failed ? 1 : 0);

/** Returns whether all went well. */
async function soak(): Promise<boolean> {
  const state = await prepare();
  const run = state.runs++;
  saveState(directory, state);
  const acknowledged = EventSet.load(join(directory, "ledger"));
  const samplesFile = join(directory, "samples.ndjson");

  const streams = streamQueries.map((query) => new Stream(servers, state.apiKey, query));
  await Promise.all(streams.map(({ opened }) => opened));
  const posts = new Posts(servers, state.apiKey, run, acknowledged);
  const reached = rate === null ? await posts.calibrate(calibrationSeconds) : null;
  const target = rate ?? Math.max(1, Math.round(reached! / 2));
  if (reached !== null) console.log(`Calibration: ${Math.round(reached)} events/s; the load is half of it.`);
  console.log(
    `Run ${run + 1} on ${servers.engine}: ${target} events/s for ${minutes} minutes in ${directory}.`,
  );
  const activities = new Activities({ servers, directory, state, run, posts, acknowledged });
  const posting = posts.atRate(target);

  const samples: Sample[] = [];
  const startMs = performance.now();
  let before = { processorMs: (await servers.usage()).processorMs, acknowledged: posts.acknowledgedCount };
  let restarts = 0;
  for (let minute = 1; minute <= minutes && !isInterrupted; minute++) {
    while (!isInterrupted && performance.now() < startMs + minute * minuteMs) {
      await Bun.sleep(Math.min(1_000, Math.max(1, startMs + minute * minuteMs - performance.now())));
      posts.check();
      activities.check();
    }
    if (isInterrupted) break;
    const usage = await servers.usage();
    const sample: Sample = {
      ...{ run, minute, at: new Date().toISOString(), stored: await countStored(state) },
      acknowledged: posts.acknowledgedCount - before.acknowledged,
      memoryBytes: usage.memoryBytes,
      descriptors: usage.descriptors,
      diskBytes: usage.diskBytes,
      backupBytes: servers.backupBytes(),
      processorMs: usage.processorMs - before.processorMs,
      postP50Ms: posts.latencies.percentile(0.5),
      postP99Ms: posts.latencies.percentile(0.99),
      pageP50Ms: activities.latencies.percentile(0.5),
      pageP99Ms: activities.latencies.percentile(0.99),
      slowestPages: slowestOf(activities.slowest),
      loadAverage: loadavg()[0]!,
    };
    posts.latencies = new Latencies();
    activities.latencies = new Latencies();
    activities.slowest = new Map();
    before = { processorMs: usage.processorMs, acknowledged: posts.acknowledgedCount };
    if (restartMinutes && minute % restartMinutes === 0 && minute < minutes) {
      sample.restarted = true;
      await servers.end(restarts++ % 2 === 0 ? "SIGTERM" : "SIGKILL");
      await servers.start();
      before.processorMs = 0;
    }
    samples.push(sample);
    appendFileSync(samplesFile, `${JSON.stringify(sample)}\n`);
    acknowledged.save(join(directory, "ledger"));
    saveState(directory, state);
    console.log(
      `minute ${minute}: ${sample.stored} events, ${Math.round(sample.memoryBytes / 1e6)} MB, ` +
        `${sample.descriptors} descriptors, ${Math.round(sample.diskBytes / 1e6)} MB on disk, ` +
        `${(sample.processorMs / 600).toFixed(1)} % of a core, POST p99 ${sample.postP99Ms.toFixed(1)} ms`,
    );
  }

  await activities.stop();
  await posts.stop();
  await posting;
  acknowledged.save(join(directory, "ledger"));
  saveState(directory, state);
  const streamProblems = await checkStream(streams, acknowledged, run);
  for (const stream of streams) stream.close();
  const verdict = await verify(servers, state, acknowledged, { run, webhooks: activities.counts.webhooks });
  await servers.end("SIGTERM");
  const faults = await servers.faults();

  const all = existsSync(samplesFile) ? readFileSync(samplesFile, "utf8").trim().split("\n") : [];
  console.log(
    `\n${formatSamples(
      all.map((line) => JSON.parse(line) as Sample),
      rowMinutes,
    )}\n`,
  );
  console.log(
    `${verdict.stored} events stored, each once; ${verdict.expired} expired and ${verdict.erased} erased, all gone; ` +
      `${posts.retries} requests repeated; ${restarts} restarts; ${streams.reduce((sum, { count }) => sum + count, 0)} ` +
      `deliveries to live streams; ${JSON.stringify(activities.counts)}`,
  );
  const growth = judgeGrowth(samples, servers.engine);
  for (const { line } of growth) console.log(line);
  console.log(`doctor: ${faults.length === 0 ? "no fault in the database" : faults.join("; ")}`);
  const errors = servers.errors();
  if (errors.length > 0) console.log(`${errors.length} errors in the logs, the last: ${errors.at(-1)}`);
  const problems = [...verdict.problems, ...streamProblems];
  for (const problem of problems) console.log(`Problem: ${problem}`);
  return problems.length === 0 && !growth.some(({ grows }) => grows) && faults.length === 0;
}

/** Starts the servers, and fills a new directory with what they run. */
async function prepare(): Promise<State> {
  const known = loadState(directory);
  if (known) {
    if (known.engine !== servers.engine) throw new Error(`${directory} has data of ${known.engine}.`);
    await servers.start();
    await call(
      servers.address,
      "PATCH",
      `/api/project-destinations/${known.destinationId}`,
      { "x-api-key": known.apiKey },
      { settings: { url: `http://127.0.0.1:${receiver.port}/` } },
    );
    return known;
  }
  const apiKey = await createKey(servers);
  await servers.start();
  const settings = await createSettings(servers.address, apiKey, `http://127.0.0.1:${receiver.port}/`);
  const fresh = { engine: servers.engine, runs: 0, erased: [] };
  return { ...fresh, apiKey, ...settings };
}

async function countStored({ apiKey }: State): Promise<number> {
  const { count } = await call<{ count: number }>(servers.address, "GET", "/api/events/count", {
    "x-api-key": apiKey,
  });
  return count;
}

/** The first stream has no filter: it must have delivered what this run posted, once. */
async function checkStream([stream]: Stream[], acknowledged: EventSet, run: number): Promise<string[]> {
  const missing = () => {
    let count = 0;
    for (const sent of acknowledged) if (sent.run === run && !stream!.delivered.has(sent)) count++;
    return count;
  };
  const deadline = performance.now() + catchUpMs;
  while (missing() > 0 && performance.now() < deadline) await Bun.sleep(500);
  const left = missing();
  return [...stream!.problems, ...(left > 0 ? [`A live stream lacks ${left} events.`] : [])];
}

/** The slowest pages of a minute. */
function slowestOf(pages: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...pages].sort(([, a], [, b]) => b - a).slice(0, 5));
}

function positive(name: "minutes" | "rate" | "restart-minutes" | "row-minutes" | "memory-mb"): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number, at least 1.`);
  return value;
}
