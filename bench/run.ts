/**
 * Measures Tidings and what it is compared with on this machine, one at a time.
 *
 *   npm run bench                             the whole table; rewrites docs/benchmarks.md
 *   npm run bench -- --postgres               the same on SQLite and on PostgreSQL with one and two nodes
 *   npm run bench -- --events 10000000        the same with another number of events to read
 *   npm run bench -- --rows pages,stats       only these rows; docs/benchmarks.md is unchanged
 *   npm run bench -- --rows neighbors --cases nothing,streams   only the cases whose description has one of these texts
 *   npm run bench -- --seconds 2 --rounds 1   a quick look; docs/benchmarks.md is unchanged
 *   npm run bench -- --quick                  a smoke test; the figures mean nothing
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installCompared } from "./install.ts";
import { measureBusyShare } from "./machine.ts";
import { removePostgres } from "./postgres.ts";
import { cleanUp, cleanUpOnSignals, root } from "./processes.ts";
import { count, insertResults } from "./table.ts";
import { type BaseOptions, postgresTable, sqliteTable } from "./tables.ts";

const { values } = parseArgs({
  options: {
    postgres: { type: "boolean", default: false },
    events: { type: "string" },
    rows: { type: "string" },
    cases: { type: "string" },
    seconds: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});
const table = values.postgres ? postgresTable : sqliteTable;
const selected = values.rows?.split(",") ?? table.names;
const unknown = selected.filter((name) => !table.names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(", ")}; there is ${table.names.join(", ")}.`);
  process.exit(1);
}
const { quick } = values;
const events = Math.ceil(positiveNumber("events", values.events ?? (quick ? "5000" : "1000000")));
const seconds = positiveNumber("seconds", values.seconds ?? (quick ? "0.1" : "8"));
const rounds = positiveNumber("rounds", values.rounds ?? (quick ? "1" : "3"));
/** Only complete measurements are written to the page, with their duration and number of rounds. */
const isComplete =
  !values.rows && !values.cases && !quick && events >= 1_000_000 && seconds >= 5 && rounds >= 2;

/** Rows that ask databases in `bench/package.json` the same. */
const inSql = ["analysis", "cohorts", "paths"];
const log = (message: string) => console.error(message);
let failures = 0;

cleanUpOnSignals();
try {
  const compares =
    (!quick && selected.includes("single-posts")) || selected.some((name) => inSql.includes(name));
  if (compares) await installCompared();
  const busy = quick ? 0 : await measureBusyShare();
  if (busy > 0.1)
    log(`Other processes use ${Math.round(busy * 100)}% of the processor: the figures will be inaccurate.`);
  const cases = values.cases?.split(",") ?? [""];
  const options: BaseOptions = { seconds, warmupMs: quick ? 50 : 1_500, rounds, events, quick, log, cases };
  const { results, failed, machine } = await table.measure(selected, options);
  failures = failed;
  console.log(`\n${results}\n\n${machine}`);
  if (isComplete && failures === 0) {
    const method = `Median of ${rounds} rounds of ${seconds} s, lowest and highest in brackets; where there are none, one round. The rows that read do so from ${count(events)} events.`;
    const page = Bun.file(join(root, "docs/benchmarks.md"));
    await page.write(insertResults(await page.text(), table.section, `${results}\n\n${method}\n${machine}.`));
    console.log("\nWritten to docs/benchmarks.md.");
  } else {
    console.log("\nNot a complete measurement: docs/benchmarks.md is unchanged.");
  }
} finally {
  await cleanUp();
  await removePostgres();
}
process.exit(failures > 0 ? 1 : 0);

function positiveNumber(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  console.error(`--${name} must be a positive number, not "${text}".`);
  process.exit(1);
}
