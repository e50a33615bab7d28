import { existsSync, readFileSync } from "node:fs";
import { run } from "./processes.ts";
import { runningProcesses, treesOf } from "./processor.ts";

const sampleMs = 50;

/** The resident memory of the process that has the most, in bytes. */
export async function residentBytes(pids: number[]): Promise<number> {
  return Math.max(0, ...(await Promise.all(pids.map(residentBytesOf))));
}

async function residentBytesOf(pid: number): Promise<number> {
  if (process.platform !== "linux") {
    return Number(await run({ command: ["ps", "-o", "rss=", "-p", String(pid)] })) * 1_024;
  }
  const file = `/proc/${pid}/status`;
  // proc_pid_status(5): in kB of 1,024 bytes. A process that has ended, and was not waited for, has none.
  const [, kibibytes = 0] = (existsSync(file) && /^VmRSS:\s+(\d+)/m.exec(readFileSync(file, "utf8"))) || [];
  return Number(kibibytes) * 1_024;
}

/**
 * The memory of processes and of all that they have started, in bytes. Pages that several of them share count once
 * (proportional set size, proc_pid_smaps(5)).
 */
export function memoryOfTrees(pids: readonly number[]): number {
  return treesOf(pids, runningProcesses()).reduce((sum, pid) => {
    const file = `/proc/${pid}/smaps_rollup`;
    const [, kibibytes = 0] = (existsSync(file) && /^Pss:\s+(\d+)/m.exec(readFileSync(file, "utf8"))) || [];
    return sum + Number(kibibytes) * 1_024;
  }, 0);
}

/**
 * Runs `work` and returns its result and the peak resident memory of any process, sampled 20 times a second. `work` can
 * add processes.
 */
export async function peakBytesDuring<Result>(
  pids: number[],
  work: () => Promise<Result>,
): Promise<{ result: Result; peakBytes: number }> {
  let peakBytes = await residentBytes(pids);
  let isOver = false;
  const sampling = (async () => {
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
    await sampling;
  }
}
