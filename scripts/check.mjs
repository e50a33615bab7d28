/**
 * The quick checks: types, lint and format, generated files, engine independence, environment, import order, invariants, unused
 * code, lock files, known vulnerabilities, and the sizes of the client and of the first load.
 *
 *   node scripts/check.mjs [NAME …]
 *
 * With names, only checks whose names contain one of them run: "types", "lint", "links".
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const checks = {
  // With bench/, which imports most of the server.
  "server types": ["tsc", "-p", "server"],
  "dashboard types": ["tsc", "-p", "dashboard"],
  "client types": ["tsc", "-p", "client"],
  // With integrations/.
  "clients types": ["tsc", "-p", "clients"],
  "documentation types": ["tsc", "-p", "docs-site"],
  "lint and format": ["biome", "check", "--error-on-warnings"],
  "generated files": ["bun", "server/docs/generate.ts", "--check"],
  "generated client": ["bun", "client/generate.ts", "--check"],
  "API description": ["node", "scripts/lint-api.mjs"],
  "documentation links": ["bun", "docs-site/check.ts"],
  "engine independence": ["node", "scripts/engines.mjs"],
  environment: ["node", "scripts/environment.mjs"],
  "import order": ["node", "scripts/imports.mjs"],
  invariants: ["node", "scripts/invariants.mjs"],
  "unused code": ["knip"],
  "lock files": ["node", "scripts/locks.mjs"],
  "known vulnerabilities": ["node", "scripts/audit.mjs"],
  "size of the client": ["node", "client/size.mjs"],
  "size of the script of web pages": ["node", "client/website-script.mjs", "--check"],
  "size of the first load": ["bun", "server/e2e/browser/first-load-budget.ts"],
};

const names = process.argv.slice(2);
const queue = Object.entries(checks).filter(
  ([check]) => names.length === 0 || names.some((name) => check.includes(name)),
);
if (queue.length === 0) {
  console.error(`No check is called so. There are ${Object.keys(checks).join(", ")}.`);
  process.exit(2);
}
let isClean = true;
// Two at a time, because more would slow each other down on a small machine.
await Promise.all([next(), next()]);
process.exit(isClean ? 0 : 1);

async function next() {
  for (let check = queue.shift(); check; check = queue.shift()) {
    const [name, [command, ...args]] = check;
    const startMs = Date.now();
    const { code, output } = await run(command, args);
    const seconds = ((Date.now() - startMs) / 1_000).toFixed(1);
    const isSkipped = code === 0 && output.startsWith("skipped");
    console.log(
      isSkipped ? `--   ${name}, ${output.trim()}` : `${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`,
    );
    if (code !== 0) {
      console.log(output);
      isClean = false;
    }
  }
}

function run(command, args) {
  return new Promise((resolve) => {
    const env = { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}` };
    const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (bytes) => (output += bytes));
    child.stderr.on("data", (bytes) => (output += bytes));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
    child.on("error", (error) => resolve({ code: 1, output: String(error) }));
  });
}
