import { readFileSync } from "node:fs";
import { run } from "./processes.ts";

const sampleMs = 50;

/** Bytes of memory that a process has resident. */
export async function residentBytes(pid: number): Promise<number> {
  if (process.platform !== "linux") {
    return Number(await run({ command: ["ps", "-o", "rss=", "-p", String(pid)] })) * 1_024;
  }
  // proc_pid_status(5): in kB, which are of 1,024 bytes.
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1_024;
}

/** Runs something while a process is watched, and gives the most memory that it had resident, looked at 20 times a second. */
export async function peakBytesDuring<Result>(
  pid: number,
  work: () => Promise<Result>,
): Promise<{ result: Result; peakBytes: number }> {
  let peakBytes = await residentBytes(pid);
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await Bun.sleep(sampleMs);
      peakBytes = Math.max(peakBytes, await residentBytes(pid));
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
