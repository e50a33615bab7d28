/**
 * Measures Tidings beside what could take its place, on this machine, one at a time. Linux only.
 *
 *   npm run bench:compare                                everything; rewrites the tables of docs/comparison.md
 *   npm run bench:compare -- --rows singles-short,idle   only these tables
 *   npm run bench:compare -- --events 100000             stores with another number of events than a million
 *   npm run bench:compare -- --quick                     a smoke test; the figures mean nothing
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installCompared } from "../install.ts";
import { describeMachine, measureBusyShare } from "../machine.ts";
import { removePostgres } from "../postgres.ts";
import { cleanUp, cleanUpOnSignals, root } from "../processes.ts";
import { replaceSection } from "../table.ts";
import type { Row } from "./row.ts";
import { idle } from "./rows/idle.ts";
import { singles } from "./rows/singles.ts";
import { stores } from "./rows/stores.ts";

const rows: Record<string, Row> = {
  "singles-short": singles("short"),
  "singles-long": singles("long"),
  "stores-short": stores("short"),
  "stores-long": stores("long"),
  idle,
};

const { values } = parseArgs({
  options: {
    rows: { type: "string" },
    events: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});
const selected = values.rows?.split(",") ?? Object.keys(rows);
const unknown = selected.filter((name) => !(name in rows));
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(", ")}; there is ${Object.keys(rows).join(", ")}.`);
  process.exit(1);
}
const { quick } = values;
const eventsUsual = 1_000_000;
/** With fewer, the figures say little of stores that grow, and the page is unchanged. */
const eventsMin = 100_000;
const events = Number(values.events ?? (quick ? 20_000 : eventsUsual));
if (!Number.isInteger(events) || events < 20_000) {
  console.error(`--events must be a whole number of at least 20,000, not "${values.events}".`);
  process.exit(1);
}
const log = (message: string) => console.error(message);
const options = {
  seconds: quick ? 0.2 : 4,
  warmupMs: quick ? 50 : 1_000,
  rounds: quick ? 1 : 3,
  events,
  log,
};
const isComplete = !quick && events >= eventsMin;
let failures = 0;

cleanUpOnSignals();
try {
  await installCompared();
  const machine = await describeMachine();
  for (const name of selected) {
    const busy = Math.round((await measureBusyShare()) * 100);
    const { table, failed, sources } = await rows[name]!(options);
    failures += failed;
    const below = `${machine}; ${sources}. Before it, other processes used ${busy}% of the processors.`;
    console.log(`\n${table}\n\n${below}`);
    if (!isComplete || failed > 0) continue;
    const page = Bun.file(join(root, "docs/comparison.md"));
    await page.write(replaceSection(await page.text(), `compare:${name}`, `${table}\n\n${below}`));
    console.log("\nWritten to docs/comparison.md.");
  }
  if (!isComplete) console.log("\nNot a complete measurement: docs/comparison.md is unchanged.");
} finally {
  await cleanUp();
  await removePostgres();
}
process.exit(failures > 0 ? 1 : 0);
