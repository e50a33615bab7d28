/** Runs a program with the Bun that npm installed, and ends as it ends. Plain Node, because the npm package has it too. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * @param isBehindShell - whether a shell started this process for npm, and may end without passing on a signal
 * @param installCommand - what the error says if Bun is missing
 */
export function runBun(parameters, { isBehindShell, installCommand }) {
  const manifest = createRequire(import.meta.url).resolve("bun/package.json");
  // The name is the same on all platforms: Bun's install script puts the program there.
  const bun = join(dirname(manifest), "bin/bun.exe");
  const child = spawn(bun, parameters, { stdio: "inherit" });

  // Ctrl+C reaches the child from the terminal. A signal that is sent to this process alone is passed on.
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  // When the shell has ended, this process has another parent.
  if (isBehindShell) {
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      child.kill("SIGTERM");
    }, 500);
    watch.unref();
  }
  child.on("error", (error) => {
    console.error(`Tidings can't start Bun: ${error.message}. Install it again with "${installCommand}".`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const each of signals) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
}
