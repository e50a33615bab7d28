/**
 * Measures Tidings against what stands beside it, one at a time, on this machine.
 *
 *   npm run bench                             the whole table, and docs/benchmarks.md anew
 *   npm run bench -- --events 10000000        the same with another number of events to read
 *   npm run bench -- --rows pages,stats       only these rows; docs/benchmarks.md stays as it is
 *   npm run bench -- --seconds 2 --rounds 1   a quick look; docs/benchmarks.md stays as it is
 *   npm run bench -- --quick                  whether everything runs; the figures mean nothing
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine, measureBusyShare } from "./machine.ts";
import { loadMonth, type Month } from "./month.ts";
import { cleanUp, cleanUpOnSignals, root, run } from "./processes.ts";
import { batches } from "./rows/batches.ts";
import { growth } from "./rows/growth.ts";
import { ingestWhileListing } from "./rows/ingest-while-listing.ts";
import { listing } from "./rows/listing.ts";
import { liveStreams } from "./rows/live-streams.ts";
import { memory } from "./rows/memory.ts";
import { pages } from "./rows/pages.ts";
import { singlePosts } from "./rows/single-posts.ts";
import { stats } from "./rows/stats.ts";
import { count, failed, failedLine, formatResults, type Line, placeResults, type Row } from "./table.ts";

/** In the order of the table; those that read the month come before the one that adds to it. */
const rows: Record<string, Row> = {
  "single-posts": singlePosts,
  batches,
  growth,
  pages,
  stats,
  listing,
  "ingest-while-listing": ingestWhileListing,
  "live-streams": liveStreams,
  memory,
};

const { values } = parseArgs({
  options: {
    events: { type: "string" },
    rows: { type: "string" },
    seconds: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});
const wanted = values.rows?.split(",") ?? Object.keys(rows);
const unknown = wanted.filter((name) => !(name in rows));
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(", ")}; there is ${Object.keys(rows).join(", ")}.`);
  process.exit(1);
}
const { quick } = values;
const events = Math.ceil(positiveNumber("events", values.events ?? (quick ? "5000" : "1000000")));
const seconds = positiveNumber("seconds", values.seconds ?? (quick ? "0.1" : "8"));
const rounds = positiveNumber("rounds", values.rounds ?? (quick ? "1" : "3"));
const isWhole = !values.rows && !quick && events >= 1_000_000 && seconds >= 8 && rounds >= 3;

const say = (sentence: string) => console.error(sentence);
const lines: Line[] = [];
let failures = 0;
let loading: Promise<Month> | undefined;

cleanUpOnSignals();
try {
  if (wanted.includes("single-posts") && !quick) await installHandWritten();
  const busy = quick ? 0 : await measureBusyShare();
  if (busy > 0.1)
    say(`Something else takes ${Math.round(busy * 100)}% of the processor: the figures will be off.`);
  const options = { seconds, warmupMs: quick ? 50 : 1_500, rounds, events, quick, say };
  const month = () => {
    loading ??= loadMonth(options);
    return loading;
  };
  for (const [name, measure] of Object.entries(rows)) {
    if (!wanted.includes(name)) continue;
    try {
      lines.push(...(await measure({ ...options, month })));
    } catch (error) {
      say(`${name} failed: ${(error as Error).message}`);
      lines.push({ ...failedLine(name, error), bar: "", aim: "" });
    }
  }
  failures = lines.filter(({ measured }) => measured === failed).length;
  const machine = await describeMachine();
  const results = formatResults(lines);
  console.log(`\n${results}\n\n${machine}`);
  if (isWhole && failures === 0) {
    const method = `Median of ${rounds} rounds of ${seconds} s, lowest and highest in brackets; where there are none, one round. The rows that read do so from ${count(events)} events.`;
    const page = await Bun.file(join(root, "bench/page.md")).text();
    await Bun.write(
      join(root, "docs/benchmarks.md"),
      placeResults(page, `${results}\n\n${method}\n${machine}.`),
    );
    console.log("\nWritten to docs/benchmarks.md.");
  } else {
    console.log("\nNot the whole measurement: docs/benchmarks.md stays as it is.");
  }
} finally {
  await cleanUp();
}
process.exit(failures > 0 ? 1 : 0);

/** Installs what Tidings is compared with, on the first run or when it was compiled for another Node. */
async function installHandWritten(): Promise<void> {
  const cwd = join(root, "bench");
  const check =
    "Promise.all([import('fastify'), import('better-sqlite3')]).then(([, sqlite]) => new sqlite.default(':memory:'))";
  const works = await run({ command: ["node", "--input-type=module", "--eval", check], cwd }).then(
    () => true,
    () => false,
  );
  if (works) return;
  console.error("Installing what Tidings is compared with, once (npm ci in bench/, about a minute) …");
  await run({ command: ["npm", "ci", "--no-audit", "--no-fund"], cwd });
}

function positiveNumber(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  console.error(`--${name} must be a positive number, not "${text}".`);
  process.exit(1);
}
