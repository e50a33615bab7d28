/**
 * Shows what tests don't notice: makes one change at a time in a source file (a mutant), runs the tests of the file, and
 * lists the changes with which they pass (survivors). Ends with 1 if a survivor isn't among the accepted ones of
 * CONTRIBUTING.md, or if one of those doesn't survive.
 *
 *   node scripts/mutate.mjs PATH … [--tests PATH] [--list]
 *
 * A path is a source file or a folder of them. The tests are those beside the file and those that import it; if there
 * are none, those of the files that import it, and so on. `--tests` names others, once or several times. They run on
 * SQLite, or on `TIDINGS_TEST_ENGINE`. With `--list`, the changes are only listed.
 *
 * The changes are made in a copy of the project in the directory for temporary files.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { applied, describe, mutantsOf } from "./mutants.mjs";
import { isTest, testsOf } from "./tests-of.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** A change can make a loop endless, or a promise that never settles. */
const limitMsMin = 3_000;
const limitOfUnchanged = 8;
const limitOfFirstRunMs = 300_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: "string", multiple: true }, list: { type: "boolean", default: false } },
});
// New files too, before they are committed.
const listing = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
const files = execFileSync("git", listing, { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((path) => path && existsSync(root + path));
const code = files.filter((path) => /\.tsx?$/.test(path) && !/\.(gen|d)\.ts$/.test(path));
const paths = code.filter(
  (path) =>
    !isTest(path) &&
    positionals.some((part) => path === part || path.startsWith(`${part.replace(/\/$/, "")}/`)),
);
if (paths.length === 0) {
  console.error("Name a source file or a folder: npm run mutate -- server/scheduling/fair-queue.ts");
  process.exit(2);
}
if (values.list) {
  for (const path of paths) {
    const source = readFileSync(root + path, "utf8");
    for (const mutant of mutantsOf(source, path)) console.log(lineOf(path, describe(source, mutant)));
  }
  process.exit(0);
}

let child;
const copy = mkdtempSync(join(tmpdir(), "tidings-mutate-"));
process.on("exit", () => {
  stop();
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));
copyProject();
const accepted = acceptedSurvivors();
let isClean = true;
for (const path of paths) await tryFile(path);
process.exit(isClean ? 0 : 1);

async function tryFile(path) {
  const tests = values.tests ?? testsOf(path, code, root);
  const source = readFileSync(join(copy, path), "utf8");
  const mutants = mutantsOf(source, path);
  if (mutants.length === 0) return;
  const startMs = Date.now();
  if (tests.length === 0 || (await runTests(tests, limitOfFirstRunMs)) !== "passed") {
    console.log(
      `${path}: ${tests.length === 0 ? "no test imports it" : `fails unchanged: ${tests.join(", ")}`}`,
    );
    isClean = false;
    return;
  }
  const limitMs = Math.max(limitMsMin, limitOfUnchanged * (Date.now() - startMs));
  const counts = { passed: 0, failed: 0, late: 0 };
  // Two lines of a file can be equal: each is accepted by itself.
  const unseen = [...(accepted.get(path) ?? [])];
  for (const mutant of mutants) {
    writeFileSync(join(copy, path), applied(source, mutant));
    const result = await runTests(tests, limitMs);
    counts[result] += 1;
    if (result !== "passed") continue;
    const survivor = describe(source, mutant);
    const index = unseen.indexOf(changeOf(survivor));
    if (index === -1) report(lineOf(path, survivor));
    else unseen.splice(index, 1);
  }
  writeFileSync(join(copy, path), source);
  for (const change of unseen) report(`${path}  is accepted, but doesn't survive: ${change}`);
  const killed = `${counts.failed + counts.late} killed${counts.late > 0 ? `, ${counts.late} of them by time` : ""}`;
  console.log(`${path}: ${mutants.length} mutants, ${killed}, ${counts.passed} survived`);
}

function report(line) {
  console.log(line);
  isClean = false;
}

/** Runs tests until the first one fails. Returns "passed", "failed" or "late". */
function runTests(tests, limitMs) {
  const parameters = ["test", "--bail", "--timeout", `${limitMs}`, ...tests.map((test) => `./${test}`)];
  const env = {
    TIDINGS_TEST_ENGINE: "sqlite",
    ...process.env,
    PATH: `${root}node_modules/.bin:${process.env.PATH}`,
  };
  // In a group of its own, so that what the tests start ends with them.
  child = spawn("bun", parameters, { cwd: copy, env, stdio: "ignore", detached: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, limitMs);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      clearTimeout(timer);
      stop();
      resolve(isLate ? "late" : code === 0 ? "passed" : "failed");
    });
  });
}

function stop() {
  try {
    if (child) process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
  child = undefined;
}

/** Copies all files, and links what is installed and built. */
function copyProject() {
  for (const path of files) cpSync(root + path, join(copy, path), { verbatimSymlinks: true });
  const installed = join(copy, "node_modules");
  mkdirSync(installed);
  for (const name of readdirSync(join(root, "node_modules"))) {
    const from = join(root, "node_modules", name);
    // The links of workspaces then lead into the copy.
    if (name === "@tidings") cpSync(from, join(installed, name), { recursive: true, verbatimSymlinks: true });
    else if (name !== ".cache") symlinkSync(from, join(installed, name), "junction");
  }
  for (const name of ["server/node_modules", "dashboard/dist", "client/dist"])
    if (existsSync(root + name)) symlinkSync(root + name, join(copy, name), "junction");
}

/** Reads the block of CONTRIBUTING.md that has the accepted survivors, below the path of their file. */
function acceptedSurvivors() {
  const text = readFileSync(`${root}CONTRIBUTING.md`, "utf8");
  const block = /^## Accepted survivors$.*?^```text$(.*?)^```$/ms.exec(text)?.[1] ?? "";
  const accepted = new Map();
  let changes;
  for (const line of block.split("\n")) {
    if (/^\S/.test(line)) {
      changes = [];
      accepted.set(line.trim(), changes);
    } else if (line.includes(" → ")) changes.push(line.trim());
  }
  return accepted;
}

function changeOf({ before, after }) {
  return `${before} → ${after}`;
}

function lineOf(path, change) {
  return `${path}:${change.line}  ${changeOf(change)}`;
}
