/**
 * Runs everything that must hold: the checks, then every test. Prints "N passed, N failed" on its last line.
 * With arguments, runs only the test files that they name.
 */
import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const named = process.argv.slice(2);

if (named.length === 0) {
  runOrExit("node", ["scripts/check.mjs"]);
  runOrExit("npm", ["run", "--silent", "build", "-w", "client"]);
}
runOrExit("node", ["scripts/build.mjs"]);

const { passed, failed, code } = await runTests(
  named.length > 0 ? named : ["server", "client", "dashboard", "bench"],
);
console.log(`${passed} passed, ${failed} failed`);
process.exit(code !== 0 || passed === 0 ? 1 : 0);

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
function runTests(paths) {
  return new Promise((resolve) => {
    const tests = spawn("bun", ["test", "--timeout", "60000", ...paths], {
      cwd: root,
      env: { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}` },
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
