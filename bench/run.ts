/**
 * Measures Tidings against what stands beside it, one at a time, on this machine.
 *
 *   npm run bench                          the whole table, about two minutes for a row
 *   npm run bench -- single-posts          only that row, and docs/benchmarks.md stays as it is
 *   npm run bench -- --seconds 2 --rounds 1   a quick look; docs/benchmarks.md stays as it is
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine, measureBusyShare } from "./machine.ts";
import { cleanUp, cleanUpOnSignals, root, run } from "./processes.ts";
import { singlePosts } from "./rows/single-posts.ts";
import { formatTable, type Line, type RowOptions, replaceResults } from "./table.ts";

const rows: Record<string, (options: RowOptions) => Promise<Line[]>> = {
  "single-posts": singlePosts,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "8" }, rounds: { type: "string", default: "3" } },
});
const unknown = positionals.filter((name) => !(name in rows));
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(", ")}; there is ${Object.keys(rows).join(", ")}.`);
  process.exit(1);
}
const seconds = positiveNumber("seconds", values.seconds);
const rounds = positiveNumber("rounds", values.rounds);
const whole = positionals.length === 0 && seconds >= 8 && rounds >= 3;

cleanUpOnSignals();
try {
  await installHandWritten();
  const say = (sentence: string) => console.error(sentence);
  const busy = await measureBusyShare();
  if (busy > 0.1)
    say(`Something else takes ${Math.round(busy * 100)}% of the processor: the figures will be off.`);
  const lines: Line[] = [];
  for (const [name, measure] of Object.entries(rows)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    lines.push(...(await measure({ seconds, rounds, say })));
  }
  const machine = await describeMachine();
  const table = formatTable(lines);
  console.log(`\n${table}\n\n${machine}`);
  if (whole) {
    const page = join(root, "docs/benchmarks.md");
    const method = `Median of ${rounds} rounds of ${seconds} s, lowest and highest in brackets.`;
    await Bun.write(
      page,
      replaceResults(await Bun.file(page).text(), `\n${table}\n\n${method}\n${machine}.\n`),
    );
    console.log("\nWritten to docs/benchmarks.md.");
  } else {
    console.log("\nNot the whole measurement: docs/benchmarks.md stays as it is.");
  }
} finally {
  await cleanUp();
}

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
