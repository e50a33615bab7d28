/** The quick checks, side by side: types, lint and format, generated files, engines kept apart, unused code, the first load's size. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const checks = {
  "types of server": ["tsc", "-p", "server"],
  "types of dashboard": ["tsc", "-p", "dashboard"],
  "types of client": ["tsc", "-p", "client"],
  "types of bench": ["tsc", "-p", "bench"],
  "lint and format": ["biome", "check", "--error-on-warnings"],
  "generated files": ["bun", "server/generate.ts", "--check"],
  "generated types": ["bun", "client/generate.ts", "--check"],
  "engines kept apart": ["node", "scripts/engines.mjs"],
  "order of imports": ["node", "scripts/imports.mjs"],
  "unused code": ["knip"],
  "size of the first load": ["bun", "server/testing/first-load-budget.ts"],
};

// Two at a time: more would only take turns on a small machine.
const waiting = Object.entries(checks);
let isClean = true;
await Promise.all([next(), next()]);
process.exit(isClean ? 0 : 1);

async function next() {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    const [name, [command, ...parameters]] = check;
    const startMs = Date.now();
    const { code, output } = await run(command, parameters);
    console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${((Date.now() - startMs) / 1_000).toFixed(1)} s)`);
    if (code !== 0) {
      console.log(output);
      isClean = false;
    }
  }
}

function run(command, parameters) {
  return new Promise((resolve) => {
    const env = { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}` };
    const child = spawn(command, parameters, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (bytes) => (output += bytes));
    child.stderr.on("data", (bytes) => (output += bytes));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
    child.on("error", (error) => resolve({ code: 1, output: String(error) }));
  });
}
