#!/usr/bin/env node
/** The `tidings` command of the npm package: runs the program with the Bun that was installed with it. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const manifest = createRequire(import.meta.url).resolve("bun/package.json");
// The name is the same on all platforms: Bun's install script puts the program there.
const bun = join(dirname(manifest), "bin/bun.exe");
const program = fileURLToPath(new URL("dist/tidings.js", import.meta.url));
const child = spawn(bun, [program, ...process.argv.slice(2)], { stdio: "inherit" });

// Ctrl+C reaches the child from the terminal. A signal that is sent to this process alone is passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// Started by npx, this process has a shell between, which does not pass on a signal: npx ends, and the server would
// stay. This process then gets another parent.
if (process.env.npm_command === "exec") {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, 500);
  watch.unref();
}
child.on("error", (error) => {
  console.error(`Tidings can't start Bun: ${error.message}. Install it again with "npm install tidings".`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  for (const each of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(each);
  process.kill(process.pid, signal);
});
