import { readConfig } from "../config.ts";
import { createLog } from "../log.ts";
import { type Running, serve } from "../main.ts";
import { ownCommand } from "../program-files.ts";
import { UsageError } from "./with-store.ts";

/** Runs a server for one command, which nobody else knows of, and which starts nothing by itself. */
export async function startInnerServer(): Promise<Running> {
  const config = readConfig();
  return serve(
    { ...config, host: "127.0.0.1", port: 0, backupTo: null, metricsAddress: null, shutdownDelaySeconds: 0 },
    { log: await createLog("silent"), isPassive: true },
  );
}

/** The same until standard input ends, so also if the command is killed. Prints the address. */
export async function runInnerServer(): Promise<void> {
  // Ctrl+C reaches both processes; this one ends after the command.
  process.on("SIGINT", () => {});
  try {
    const running = await startInnerServer();
    console.log(running.address);
    await Bun.stdin.text();
    await running.stop();
    process.exit(0);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

/**
 * Runs a server for one command in a process of its own: in the command's process, the memory of millions of events would
 * not be collected soon.
 */
export async function spawnInnerServer(): Promise<{ address: string; stop: () => Promise<void> }> {
  const child = Bun.spawn(ownCommand("serve-command"), {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  let text = "";
  for (const decoder = new TextDecoder(); !text.includes("\n"); ) {
    const { value, done } = await reader.read();
    if (done) throw new UsageError("The data can't be opened.");
    text += decoder.decode(value, { stream: true });
  }
  return {
    address: text.trim(),
    async stop() {
      await child.stdin.end();
      await child.exited;
    },
  };
}
