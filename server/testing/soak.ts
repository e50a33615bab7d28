/**
 * Runs a server under mixed load for a long time, with restarts by SIGTERM and SIGKILL in turn, and prints its memory,
 * open files and slowest response as a table. At the end, every acknowledged event must be listed once, a live stream
 * must have delivered each, and the indexes must agree with the rows.
 *
 * @example
 * npm run soak                                      # an hour, with a restart every ten minutes
 * npm run soak -- --minutes 480 --restart-minutes 60
 * TIDINGS_TEST_ENGINE=postgres npm run soak
 */
import { readdirSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { expectConsistent } from "./consistency.ts";
import { engine } from "./engine.ts";
import { expectToldEvents, startLoad } from "./mixed-load.ts";
import { testProcess } from "./server-process.ts";
import { watchStream } from "./stream-watch.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    "restart-minutes": { type: "string", default: "10" },
  },
});
const minutes = positive("minutes");
const restartMinutes = positive("restart-minutes");
const minuteMs = 60_000;
const clients = { id: 4, anonymous: 2, batch: 1, idempotent: 2 };
/** Keeps an hour near two million events, which this process remembers. */
const pauseMs = 50;

await using app = await testProcess();
using load = startLoad([app], clients, { allowUnavailable: engine === "postgres", pauseMs });
const stream = await watchStream([app], 0);
const startMs = performance.now();
let restarts = 0;
let lastCount = 0;

console.log(`Mixed load on ${engine} for ${minutes} minutes, a restart every ${restartMinutes}.\n`);
console.log("| minute | events | a second | memory, MB | open files | data, MB | slowest response, ms |");
console.log("|---:|---:|---:|---:|---:|---:|---:|");
for (let minute = 1; minute <= minutes; minute++) {
  load.outcome.slowestMs = 0;
  await load.during(startMs + minute * minuteMs - performance.now());
  report(minute);
  if (minute % restartMinutes !== 0 || minute === minutes) continue;
  await app.end(restarts++ % 2 === 0 ? "SIGTERM" : "SIGKILL");
  await app.start();
}

const outcome = await load.stop();
const events = await expectToldEvents(app, outcome);
await stream.expectDelivered(events);
await app.end("SIGTERM");
const rows = await expectConsistent(app.config);
console.log(
  `\n${outcome.acknowledged.size.toLocaleString("en")} events acknowledged, ${rows.toLocaleString("en")} stored, ` +
    `${restarts} restarts, ${outcome.repeated.toLocaleString("en")} repeated requests, none stored twice. ` +
    `Load average ${loadavg()[0]!.toFixed(1)}.`,
);

function report(minute: number): void {
  const { size } = load.outcome.acknowledged;
  const columns = [
    minute,
    size,
    Math.round((size - lastCount) / 60),
    Math.round(app.memoryMb()),
    openFiles(),
    Math.round(dataBytes() / 1_000_000),
    Math.round(load.outcome.slowestMs),
  ];
  console.log(`| ${columns.map((column) => String(column.toLocaleString("en"))).join(" | ")} |`);
  lastCount = size;
}

function openFiles(): number | string {
  return process.platform === "linux" ? readdirSync(`/proc/${app.pid}/fd`).length : "";
}

function dataBytes(): number {
  const directory = app.config.dataDirectory;
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

function positive(name: keyof typeof values): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number, at least 1.`);
  return value;
}
