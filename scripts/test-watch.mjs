/**
 * Runs tests as `scripts/test.mjs` does, and again after each change of a file, until Ctrl+C. The arguments are the
 * same; without a path, every change would run the checks and all tests.
 *
 *   node scripts/test-watch.mjs PATH …
 */
import { spawn } from "node:child_process";
import { watch } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folders = ["server", "dashboard", "client", "clients", "integrations", "docs-site", "docs", "bench"];
/** What installing, building and testing write. */
const ignored = /(^|[/\\])(node_modules|dist|screenshots)([/\\]|$)/;
/** An editor writes a file in several steps, and git writes many files. */
const settleMs = 200;

const parameters = process.argv.slice(2);
if (parameters.length === 0) {
  console.error("Name a test: npm run test:watch -- server/events/list.test.ts");
  process.exit(2);
}
let isRunning = false;
let isChanged = false;
let timer;
for (const folder of folders)
  watch(root + folder, { recursive: true }, (_, path) => {
    if (path === null || ignored.test(path)) return;
    isChanged = true;
    clearTimeout(timer);
    timer = setTimeout(run, settleMs);
  });
run();

/** A change during a run leads to another one after it. */
function run() {
  if (isRunning) return;
  isRunning = true;
  isChanged = false;
  const tests = spawn("node", ["scripts/test.mjs", ...parameters], { cwd: root, stdio: "inherit" });
  tests.on("close", () => {
    isRunning = false;
    if (isChanged) run();
    else console.log("\nWaiting for a change …");
  });
}
