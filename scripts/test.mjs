/**
 * Runs everything that must hold: the checks, then every test, with events kept in SQLite and then in PostgreSQL. Prints
 * "N passed, N failed" on its last line. With arguments, runs only the test files whose paths hold one of them.
 */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const named = process.argv.slice(2);
const asked = process.env.TIDINGS_TEST_ENGINE;

/** What each engine has tests of: the other's own files are not its business, and what no engine has a part in is tested once. */
const engines = {
  sqlite: (path) => !path.startsWith("server/storage/postgres/"),
  postgres: (path) =>
    /^server\/(?!storage\/sqlite\/|wire\/|testing\/)/.test(path) || path === "client/src/tidings.test.ts",
};

if (named.length === 0) {
  runOrExit("node", ["scripts/check.mjs"]);
  runOrExit("npm", ["run", "--silent", "build", "-w", "client"]);
}
runOrExit("node", ["scripts/build.mjs"]);

const tests = ["server", "client", "dashboard", "bench"]
  .flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true }).map((path) => `${folder}/${path}`),
  )
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /\.test\.tsx?$/.test(path) && !path.includes("/node_modules/"))
  .filter((path) => named.length === 0 || named.some((part) => path.includes(part)))
  .sort();
const total = { passed: 0, failed: 0 };
let isGood = true;
for (const [engine, has] of Object.entries(engines)) {
  const paths = tests.filter(has);
  if ((asked && asked !== engine) || paths.length === 0) continue;
  console.log(`\nTests on ${engine}:`);
  const { passed, failed, code } = await runTests(paths, engine);
  total.passed += passed;
  total.failed += failed;
  isGood &&= code === 0 && passed > 0;
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(isGood && total.passed > 0 ? 0 : 1);

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

/** Runs `bun test`, shows what it prints, and reads the counts off its closing lines. */
function runTests(paths, engine) {
  return new Promise((resolve) => {
    // As paths rather than as parts of paths, which a longer path may hold as well.
    const tests = spawn("bun", ["test", "--timeout", "60000", ...paths.map((path) => `./${path}`)], {
      cwd: root,
      env: {
        ...process.env,
        PATH: `${root}node_modules/.bin:${process.env.PATH}`,
        TIDINGS_TEST_ENGINE: engine,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let ending = "";
    for (const stream of [tests.stdout, tests.stderr]) {
      stream.on("data", (bytes) => {
        process.stdout.write(bytes);
        ending = (ending + bytes).slice(-4_000);
      });
    }
    tests.on("close", (code) => {
      const count = (word) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(ending)?.[1] ?? 0);
      resolve({ passed: count("pass"), failed: count("fail") + count("error"), code: code ?? 1 });
    });
  });
}
