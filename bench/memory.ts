import { readFileSync } from "node:fs";
import { run } from "./processes.ts";

const sampleMs = 50;

/** Bytes of memory that a process has resident; of several, the one that has most. */
export async function residentBytes(pids: number[]): Promise<number> {
  return Math.max(...(await Promise.all(pids.map(bytesOf))));
}

async function bytesOf(pid: number): Promise<number> {
  if (process.platform !== "linux") {
    return Number(await run({ command: ["ps", "-o", "rss=", "-p", String(pid)] })) * 1_024;
  }
  // proc_pid_status(5): in kB, which are of 1,024 bytes.
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1_024;
}

/** Runs something while processes are watched, and gives the most memory that one had resident, looked at 20 times a second. */
export async function peakBytesDuring<Result>(
  pids: number[],
  work: () => Promise<Result>,
): Promise<{ result: Result; peakBytes: number }> {
  let peakBytes = await residentBytes(pids);
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await Bun.sleep(sampleMs);
      peakBytes = Math.max(peakBytes, await residentBytes(pids));
    }
  })();
  try {
    const result = await work();
    return { result, peakBytes };
  } finally {
    isOver = true;
    await watching;
  }
}
