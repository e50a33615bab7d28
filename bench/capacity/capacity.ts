/**
 * Measures what events take: disk for events of 100, 215 and 1,000 bytes, after blocks are built and older events are
 * compressed in the background; resident memory by events stored; processor time of events in arrays and alone; and how
 * long a backup, `tidings doctor`, a rebuild of the index and a restore take. Then it calculates what 1 to 100 million
 * events a day need (docs/capacity.md).
 *
 * @example
 * npm run capacity                                  # SQLite, a million events of each size; memory up to 3 million
 * npm run capacity -- --postgres
 * npm run capacity -- --sizes 215 --counts 0,100000 # some of it
 * npm run capacity -- --sizes 215 --data /srv/c     # keeps the data, and continues with what an earlier run recorded
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ServerOptions, Servers } from "../kept-servers.ts";
import { call, createKey } from "../soak/setup.ts";
import { count, formatColumns, megabytes } from "../table.ts";
import { record, recordOneByOne, type Size, settle, sizes } from "./fill.ts";
import { measureOperations, type Operations, perMillion } from "./operations.ts";
import { formatPlan } from "./plan.ts";

const idleMs = 20_000;
const pages = [
  "/api/events?limit=50",
  "/api/events?limit=50&channel=channel-3",
  "/api/events?limit=50&q=payment+failed",
  "/api/stats?by=day",
  "/api/users?limit=50",
];
const readRounds = 20;
/** More than a block, so that one is built. */
const singleEvents = 200_000;

const { values } = parseArgs({
  options: {
    postgres: { type: "boolean", default: false },
    sizes: { type: "string", default: sizes.join(",") },
    /** Of events of 215 bytes. Operations are measured with the first two, and the plan is made of the last. */
    counts: { type: "string", default: "0,1000000,3000000" },
    events: { type: "string", default: "1000000" },
    data: { type: "string" },
  },
});
const options: ServerOptions = {
  engine: values.postgres ? "postgres" : "sqlite",
  nodes: 1,
  isBackedUp: false,
};
const selected = values.sizes.split(",").map(Number);
const unknown = selected.filter((size) => !(sizes as readonly number[]).includes(size));
if (unknown.length > 0)
  throw new Error(`There is no size ${unknown.join(", ")}; there is ${sizes.join(", ")}.`);
const counts = values.counts.split(",").map(Number);
const events = Number(values.events);

/** Ends the server of an interrupted measurement, and removes its data. */
let removeAll = async () => {};
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, async () => {
    await removeAll();
    process.exit(130);
  });

console.log(`${options.engine}, load average ${loadavg()[0]!.toFixed(1)}\n`);
for (const size of selected as Size[]) {
  const directory = values.data ?? mkdtempSync(join(tmpdir(), "tidings-capacity-"));
  // PostgreSQL doesn't run as root, and reaches its files through this directory.
  chmodSync(directory, 0o711);
  const servers = await Servers.open(directory, options);
  removeAll = async () => {
    await servers.close();
    if (!values.data) rmSync(directory, { recursive: true, force: true });
  };
  try {
    const apiKey = await openKey(servers, join(directory, "api-key"));
    await servers.start();
    await measure({ servers, directory, apiKey }, size, size === 215 ? counts : [0, events]);
  } finally {
    await removeAll();
  }
}
process.exit(0);

/** The key of an earlier run on the same data, or a new one. */
async function openKey(servers: Servers, file: string): Promise<string> {
  if (existsSync(file)) return readFileSync(file, "utf8");
  const apiKey = await createKey(servers);
  writeFileSync(file, apiKey, { mode: 0o600 });
  return apiKey;
}

async function countRecorded({ servers, apiKey }: Installation): Promise<number> {
  const headers = { "x-api-key": apiKey };
  return (await call<{ count: number }>(servers.address, "GET", "/api/events/count", headers)).count;
}

type Installation = { servers: Servers; directory: string; apiKey: string };

async function measure(installation: Installation, size: Size, steps: number[]): Promise<void> {
  const { servers, directory } = installation;
  const rows: string[][] = [];
  let emptyBytes = 0;
  let loaded = await countRecorded(installation);
  const operations: Operations[] = [];
  let bytesAnEvent = 0;
  for (const step of steps) {
    if (step < loaded) continue;
    const before = (await servers.usage()).processorMs;
    const startedMs = performance.now();
    if (step > loaded) await record(installation, size, { from: loaded, to: step, total: steps.at(-1)! });
    const recordedMs = performance.now() - startedMs;
    await settle(servers);
    const settledMs = performance.now() - startedMs;
    const spentMs = (await servers.usage()).processorMs - before;
    const added = Math.max(0, step - loaded);
    loaded = Math.max(step, loaded);
    await servers.end("SIGTERM");
    await servers.start();
    await Bun.sleep(idleMs);
    const usage = await servers.usage();
    if (step === 0) emptyBytes = usage.diskBytes;
    const idle = usage.memoryBytes;
    await readPages(installation);
    const afterReading = (await servers.usage()).memoryBytes;
    const perEvent = step === 0 ? null : (usage.diskBytes - emptyBytes) / step;
    rows.push([
      count(step),
      perEvent === null ? "–" : `${Math.round(perEvent)}`,
      megabytes(idle),
      megabytes(afterReading),
      added === 0 ? "–" : `${count(added / (recordedMs / 1_000))}/s`,
      added === 0 ? "–" : `${Math.round((settledMs - recordedMs) / 1_000)} s`,
      added === 0 ? "–" : `${Math.round((spentMs * 1_000) / added)} µs`,
    ]);
    console.error(`${size} bytes: ${rows.at(-1)!.join(", ")}; load average ${loadavg()[0]!.toFixed(1)}`);
    if (perEvent !== null) bytesAnEvent = perEvent;
    if (size === 215 && step <= steps[1]!) operations.push(await measureOperations(servers, directory));
  }
  const columns = [
    "events",
    "bytes an event",
    "memory, idle",
    "after reading",
    "recorded",
    "settled after",
    "processor an event",
  ];
  console.log(`Events of ${size} bytes:\n\n${formatColumns(columns, rows)}\n`);
  // Earlier runs on the same data measured the rest.
  if (operations.length < 2) {
    if (operations[0]) console.log(JSON.stringify(operations[0]));
    return;
  }
  const [few, many] = operations as [Operations, Operations];
  const added = perMillion(few, many, steps[1]! - steps[0]!);
  const seconds = (value: number | null) => (value === null ? "–" : `${value.toFixed(1)} s`);
  const cellsOf = ({ backup, doctor, rebuild, restore }: Operations) =>
    [backup, doctor, rebuild, restore].map(seconds);
  console.log(
    `${formatColumns(
      ["", "backup", "doctor", "doctor --fix", "restore"],
      [
        ["without events", ...cellsOf(few)],
        [`with ${count(steps[1]!)}`, ...cellsOf(many)],
        ["for each further million", ...cellsOf(added)],
      ],
    )}\n`,
  );
  const singlePostUs = await measureSinglePosts(installation, loaded);
  const measured = { bytesAnEvent, singlePostUs, backupS: added.backup, rebuildS: added.rebuild };
  console.log(`Calculated from it, for events of 215 bytes:\n\n${formatPlan(measured, options.engine)}\n`);
}

/** The processor time of events that have a request each, with what follows in the background, in microseconds. */
async function measureSinglePosts(installation: Installation, from: number): Promise<number> {
  const { servers } = installation;
  const before = (await servers.usage()).processorMs;
  const startedMs = performance.now();
  await recordOneByOne(installation, 215, { from, to: from + singleEvents });
  const seconds = (performance.now() - startedMs) / 1_000;
  await settle(servers);
  const singlePostUs = (((await servers.usage()).processorMs - before) * 1_000) / singleEvents;
  console.log(
    `One event in each request, on 32 connections: ${count(singleEvents / seconds)}/s, ${Math.round(singlePostUs)} µs of processor time each.\n`,
  );
  return singlePostUs;
}

/** Reads what people read, so that caches are filled. */
async function readPages({ servers, apiKey }: Installation): Promise<void> {
  for (let round = 0; round < readRounds; round++) {
    for (const path of pages) {
      const response = await fetch(servers.address + path, { headers: { "x-api-key": apiKey } });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
    }
  }
}
