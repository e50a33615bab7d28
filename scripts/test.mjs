/**
 * Runs the checks, then the tests on both storage engines at the same time. The last line is "N passed, N failed".
 *
 * Files that fail in a full run are run once more, alone, and this second result counts: a test that passes there was
 * disturbed by the load of the run, or by what another failed test left running. Its first failure is printed, with
 * the files that passed only the second time.
 *
 *   node scripts/test.mjs [--long] [--part N/M] [--pages] [PATH …]
 *
 * With paths, only test files whose paths contain one of them run, each on one engine: `TIDINGS_TEST_ENGINE`, or else
 * the file's first. Files for ClickHouse alone are left to `scripts/test-clickhouse.mjs`. With `--long`, tests run at full size (`effort` in `server/testing/engine.ts`), and each file has
 * a global object of its own, so that what a failed test leaves running can't fail another file's tests. With
 * `--part 2/4`, the second of four parts runs, which take about equally long; the checks are in the first. With
 * `--pages`, only the files that drive a browser run, on SQLite, without the checks (`scripts/test-browsers.mjs`).
 */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const {
  values: { long: isLong, part: partArg, pages: isOfPages },
  positionals: filters,
} = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: "boolean", default: false },
    part: { type: "string", default: "1/1" },
    pages: { type: "boolean", default: false },
  },
});
const part = partOf(partArg);
const isFullRun = filters.length === 0;
/**
 * The default time limit of a test, in milliseconds: ten times what a slow one takes alone, and of a long one, which
 * runs beside other load, more.
 */
const timeoutMs = isLong ? 600_000 : 60_000;
/** The engines that a file runs on. Without this line, only the first, because the engine makes no difference. */
const pragma = /^\/\/ @engines (.+)$/m;
/** A file that takes long runs only with `--long`, or if a path names it; "@long postgres" says so of one engine. */
const longPragma = /^\/\/ @long(?: (\S+))?$/m;
/** What a file imports that drives a browser. */
const drivesBrowser = /\/(browser\/(chromium|dashboard)|drivers\/browser)\.ts"/;
const engines = ["sqlite", "postgres", "clickhouse"];
/** Test files that run at the same time on an engine. One more than cores: many tests wait, for a page or a time. */
const workersOn = {
  sqlite: availableParallelism() + 1,
  postgres: availableParallelism() + 1,
  // ClickHouse itself works on several cores at once.
  clickhouse: Math.max(1, availableParallelism() - 1),
};
/** What tests keep at a time, and what PostgreSQL's log takes, with room to spare, in bytes. */
const memoryBytes = 4 * 2 ** 30;
const postgresServer = "server/testing/postgres.ts";
/** If more files fail, the reason isn't load: they are repeated at the same time, apart from each other. */
const repeatedAloneMax = 10;

/** Where tests keep their files: in memory, where fsync costs nothing. Only the long ones keep them on a disk. */
const temporary = mkdtempSync(join(isLong ? tmpdir() : memoryOrDisk(), "tidings-tests-"));
// PostgreSQL can't run as root, and finds its own directory in there as another user.
chmodSync(temporary, 0o711);
process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
const environment = {
  ...process.env,
  TMPDIR: temporary,
  PATH: `${root}node_modules/.bin:${process.env.PATH}`,
  ...(isLong && { TIDINGS_TEST_LONG: "1" }),
};
const cache = `${root}node_modules/.cache/tidings-tests`;
const results = join(temporary, "results");
mkdirSync(results);

if (isFullRun) {
  if (part.number === 1 && !isOfPages) runOrExit("node", ["scripts/check.mjs"]);
  runOrExit("npm", ["run", "--silent", "build", "-w", "client"]);
}
runOrExit("node", ["scripts/build.mjs"]);
mkdirSync(cache, { recursive: true });

const plan = planFor(testFiles());
for (const engine of engines) plan[engine] = filesOfPart(plan[engine], engine);
const postgres =
  plan.postgres.length + plan.clickhouse.length > 0 && !process.env.TIDINGS_TEST_POSTGRES
    ? await startPostgres()
    : null;
// SQLite's output is shown immediately, PostgreSQL's afterwards, so that they don't mix.
const log = join(results, "postgres.log");
const logFile = openSync(log, "w");
const runs = await Promise.all([
  runTests("sqlite", "inherit"),
  runTests("postgres", plan.sqlite.length > 0 ? logFile : "inherit"),
  runTests("clickhouse", "inherit"),
]);
closeSync(logFile);
process.stdout.write(readFileSync(log));
if (isFullRun) for (const run of runs) await repeatFailed(run);
await postgres?.stop();

const passed = runs.reduce((sum, run) => sum + run.passed, 0);
const failed = runs.reduce((sum, run) => sum + run.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);

/** Linux's file system in memory, if it has room for the tests; otherwise the directory for temporary files. */
function memoryOrDisk() {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= memoryBytes ? memory : tmpdir();
}

/** All test files, or those that the paths name. Ends if there is none for a path. */
function testFiles() {
  const files = [
    "server",
    "client",
    "clients",
    "integrations",
    "dashboard",
    "bench",
    "scripts",
    "deploy",
  ].flatMap(testsIn);
  for (const part of filters) {
    if (files.some((file) => file.includes(part))) continue;
    console.error(`No test file has "${part}" in its path.`);
    process.exit(2);
  }
  return files;
}

function testsIn(folder) {
  return readdirSync(root + folder, { recursive: true })
    .map((path) => `${folder}/${path}`.replaceAll("\\", "/"))
    .filter((path) => /\.test\.(tsx?|mjs)$/.test(path) && !path.includes("/node_modules/"))
    .filter((path) => isFullRun || filters.some((part) => path.includes(part)));
}

/** Returns the files to run on each engine. */
function planFor(files) {
  const requestedEngine = process.env.TIDINGS_TEST_ENGINE;
  const plan = Object.fromEntries(engines.map((engine) => [engine, []]));
  for (const file of files) {
    const text = readFileSync(root + file, "utf8");
    if (isOfPages && !drivesBrowser.test(text)) continue;
    const long = isFullRun && !isLong ? longPragma.exec(text) : null;
    if (long && long[1] === undefined) continue;
    const listed = pragma.exec(text)?.[1].split(", ") ?? [engines[0]];
    const unknown = [...listed, long?.[1] ?? engines[0]].find((engine) => !engines.includes(engine));
    if (unknown) throw new Error(`${file}: "${unknown}" is not an engine; there is ${engines.join(", ")}`);
    const chosen = requestedEngine
      ? listed.filter((engine) => engine === requestedEngine)
      : isFullRun && !isOfPages
        ? listed.filter((engine) => engine !== long?.[1])
        : [listed[0]];
    for (const engine of chosen) {
      if (engine === "clickhouse" && !process.env.TIDINGS_TEST_CLICKHOUSE) {
        if (!isFullRun) console.log(`Skipped ${file}: npm run test:clickhouse -- ${file} runs it.`);
        continue;
      }
      plan[engine].push(file);
    }
  }
  return plan;
}

/** Divides files into parts by their committed timings, which are the same on all machines. */
function filesOfPart(files, engine) {
  if (engine === "clickhouse") return files;
  const known = JSON.parse(readFileSync(`${root}scripts/test-timings/${timingsName(engine)}`, "utf8")).files;
  const msOf = (file) => known[file] ?? 1_000;
  const parts = Array.from({ length: part.of }, () => ({ ms: 0, files: [] }));
  // The slowest files first, each into the part that is the shortest so far.
  for (const file of files.toSorted((a, b) => msOf(b) - msOf(a) || (a < b ? -1 : 1))) {
    const shortest = parts.reduce((least, other) => (other.ms < least.ms ? other : least));
    shortest.ms += msOf(file);
    shortest.files.push(file);
  }
  return parts[part.number - 1].files;
}

/** Parses "2/4". */
function partOf(text) {
  const [number, of] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? [];
  if (number >= 1 && number <= of) return { number, of };
  console.error(`--part ${text}: write which part of how many, such as --part 2/4.`);
  process.exit(2);
}

function timingsName(engine) {
  return isLong ? `long-${engine}.json` : `${engine}.json`;
}

/** Runs an engine's files, and reads the counts from the report. */
async function runTests(engine, output) {
  const files = plan[engine];
  if (files.length === 0) return { engine, passed: 0, failed: 0, failedFiles: [] };
  const name = timingsName(engine);
  const run = await bunTest(engine, files, output, [
    `--parallel=${workersOn[engine]}`,
    // A new global object takes half a second for each file, which `npm test` hasn't.
    ...(isLong ? [] : ["--no-isolate"]),
    // The slowest files first, by their last timings on this machine, or else the committed ones. A full run updates
    // the first.
    ...[`--timings=${cache}/${name}`, `--timings=scripts/test-timings/${name}`],
    ...(isFullRun && !isOfPages ? ["--update-timings"] : []),
  ]);
  console.log(`Tests on ${engine}: ${run.passed} passed, ${run.failed} failed`);
  return run;
}

/** Runs failed files again, and replaces their results. */
async function repeatFailed(run) {
  const { failedFiles } = run;
  if (failedFiles.length === 0) return;
  if (failedFiles.length <= repeatedAloneMax) {
    for (const first of failedFiles) await repeat(run, [first], []);
  } else if (!isLong) {
    // Without a global object of its own for each file, one that fails can fail the others of its process.
    await repeat(run, failedFiles, [`--parallel=${workersOn[run.engine]}`]);
  }
}

async function repeat(run, first, options) {
  const { engine } = run;
  const files = first.map(({ file }) => file);
  console.log(`\nRepeating on ${engine}: ${files.join(", ")}`);
  const second = await bunTest(engine, files, "inherit", options);
  for (const { passed, failed } of first) {
    run.passed -= passed;
    run.failed -= failed;
  }
  run.passed += second.passed;
  run.failed += second.failed;
  const failed = new Set(second.failedFiles.map(({ file }) => file));
  for (const file of files) if (!failed.has(file)) console.log(`Passed when repeated, on ${engine}: ${file}`);
}

/** Runs test files with `bun test`, and returns the counts, also of each file with failures. */
function bunTest(engine, files, output, options) {
  const report = join(results, `${engine}.xml`);
  rmSync(report, { force: true });
  const tests = spawn(
    "bun",
    [
      ...["test", "--timeout", `${timeoutMs}`, ...options],
      ...(isFullRun ? ["--only-failures"] : []),
      ...["--reporter=junit", `--reporter-outfile=${report}`],
      // With "./", because other arguments match any path that contains them.
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
      const counts = countsIn(report);
      // A file that isn't in the report failed to load.
      const failedFiles = files
        .map((file) => ({ file, ...(counts.get(file) ?? { passed: 0, failed: 1 }) }))
        .filter(({ failed }) => failed > 0);
      const sum = (of) => [...counts.values()].reduce((total, file) => total + of(file), 0);
      const failed = sum((file) => file.failed);
      resolve({
        engine,
        passed: sum((file) => file.passed),
        failed: Math.max(failed, failedFiles.length, code === 0 ? 0 : 1),
        failedFiles,
      });
    });
  });
}

/** Counts passed and failed tests of each file in a JUnit report. */
function countsIn(report) {
  const counts = new Map();
  if (!existsSync(report)) return counts;
  // A file's suite is indented by two spaces, and the groups inside it by more.
  for (const [suite] of readFileSync(report, "utf8").matchAll(/^ {2}<testsuite .*>$/gm)) {
    const value = (name) => new RegExp(` ${name}="([^"]*)"`).exec(suite)?.[1] ?? "";
    const failed = Number(value("failures"));
    counts.set(value("file"), { failed, passed: Number(value("tests")) - failed - Number(value("skipped")) });
  }
  return counts;
}

/** Starts the PostgreSQL server that the tests share; each test has its own database. */
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

function runOrExit(command, args) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.log(`0 passed, 1 failed`);
    process.exit(1);
  }
}
