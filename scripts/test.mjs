/**
 * Runs everything that must hold: the checks, then the tests, on both engines of storage at the same time. Prints "N passed, N failed" on
 * its last line.
 *
 *   node scripts/test.mjs [--long] [PATH …]
 *
 * With paths, it runs only the test files whose paths contain one of them, each on one engine: SQLite where the file allows it, or the
 * one that `TIDINGS_TEST_ENGINE` names. With `--long`, tests do as much as they can instead of as little (`server/testing/effort.ts`).
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const parameters = process.argv.slice(2);
const isLong = parameters.includes("--long");
const named = parameters.filter((parameter) => parameter !== "--long");
const isWhole = named.length === 0;
/** How long one test may take, in milliseconds, unless it says so itself: ten times what it takes alone. */
const timeoutMs = 60_000;
/** A file without this line runs on the first engine alone: what it tests is the same on any. */
const pragma = /^\/\/ @engines (.+)$/m;
const engines = ["sqlite", "postgres"];
const postgresServer = "server/testing/shared-postgres.ts";

const environment = {
  ...process.env,
  PATH: `${root}node_modules/.bin:${process.env.PATH}`,
  ...(isLong && { TIDINGS_TEST_LONG: "1" }),
};
const cache = `${root}node_modules/.cache/tidings-tests`;
const results = mkdtempSync(join(tmpdir(), "tidings-results-"));

if (isWhole) {
  runOrExit("node", ["scripts/check.mjs"]);
  runOrExit("npm", ["run", "--silent", "build", "-w", "client"]);
}
runOrExit("node", ["scripts/build.mjs"]);
mkdirSync(cache, { recursive: true });

const plan = planOf(["server", "client", "dashboard", "bench"].flatMap(testsIn));
const postgres =
  plan.postgres.length > 0 && !process.env.TIDINGS_TEST_POSTGRES ? await startPostgres() : null;
// SQLite's output is shown as it comes, PostgreSQL's after it, so that no failure is mixed with another's.
const log = join(results, "postgres.log");
const later = openSync(log, "w");
const runs = await Promise.all([
  runTests("sqlite", "inherit"),
  runTests("postgres", plan.sqlite.length > 0 ? later : "inherit"),
]);
closeSync(later);
process.stdout.write(readFileSync(log));
await postgres?.stop();
rmSync(results, { recursive: true });

const passed = runs.reduce((sum, run) => sum + run.passed, 0);
const failed = runs.reduce((sum, run) => sum + run.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);

function testsIn(folder) {
  return readdirSync(root + folder, { recursive: true })
    .map((path) => `${folder}/${path}`.replaceAll("\\", "/"))
    .filter((path) => /\.test\.tsx?$/.test(path) && !path.includes("/node_modules/"))
    .filter((path) => isWhole || named.some((part) => path.includes(part)));
}

/** Which files run on which engine. */
function planOf(files) {
  const asked = process.env.TIDINGS_TEST_ENGINE;
  const plan = Object.fromEntries(engines.map((engine) => [engine, []]));
  for (const file of files) {
    const listed = pragma.exec(readFileSync(root + file, "utf8"))?.[1].split(", ") ?? [engines[0]];
    const unknown = listed.find((engine) => !engines.includes(engine));
    if (unknown) throw new Error(`${file}: "${unknown}" is not an engine; there is ${engines.join(", ")}`);
    const wanted = asked ? listed.filter((engine) => engine === asked) : isWhole ? listed : [listed[0]];
    for (const engine of wanted) plan[engine].push(file);
  }
  return plan;
}

/** Runs an engine's files, a worker for each core, and reads the counts from the report. */
function runTests(engine, output) {
  const files = plan[engine];
  if (files.length === 0) return { passed: 0, failed: 0 };
  const report = join(results, `${engine}.xml`);
  // What files took the last time on this machine, or else where these were written down.
  const timings = [`--timings=${cache}/${engine}.json`, `--timings=scripts/test-timings/${engine}.json`];
  const tests = spawn(
    "bun",
    [
      "test",
      ...["--timeout", `${timeoutMs}`, `--parallel=${availableParallelism()}`, "--no-isolate"],
      // The slowest files first; what a file took is written down after a whole run.
      ...timings,
      ...(isWhole ? ["--update-timings", "--only-failures"] : []),
      ...["--reporter=junit", `--reporter-outfile=${report}`],
      // As paths rather than as parts of paths, which a longer path may contain as well.
      ...files.map((path) => `./${path}`),
    ],
    {
      cwd: root,
      env: { ...environment, ...postgres?.variables, TIDINGS_TEST_ENGINE: engine },
      stdio: ["ignore", output, output],
    },
  );
  return new Promise((resolve) => {
    tests.on("close", (code) => {
      const { passed, failed } = countsOf(report);
      // A file that can't be loaded fails the run without being in the report.
      const counts = { passed, failed: Math.max(failed, code === 0 ? 0 : 1) };
      console.log(`Tests on ${engine}: ${counts.passed} passed, ${counts.failed} failed`);
      resolve(counts);
    });
  });
}

/** Counts what passed and what failed in a report in JUnit's format. */
function countsOf(report) {
  const suites = readFileSync(report, "utf8").match(/<testsuites .*>/)?.[0] ?? "";
  const count = (name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suites)?.[1] ?? 0);
  const failed = count("failures");
  return { failed, passed: count("tests") - failed - count("skipped") };
}

/** Starts the PostgreSQL that the tests share; each has a database of its own there. */
function startPostgres() {
  const server = spawn("bun", [postgresServer], {
    cwd: root,
    env: environment,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => server.on("close", resolve));
  return new Promise((resolve, reject) => {
    server.stdout.once("data", (line) => {
      resolve({
        variables: JSON.parse(line),
        stop() {
          server.stdin.end();
          return ended;
        },
      });
    });
    ended.then(() => reject(new Error("PostgreSQL for the tests did not start")));
  });
}

function runOrExit(command, parameters) {
  const { status } = spawnSync(command, parameters, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.log(`0 passed, 1 failed`);
    process.exit(1);
  }
}
