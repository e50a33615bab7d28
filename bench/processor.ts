import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in ticks of so many milliseconds (proc(5)). */
const tickMs = 10;

/** The processor time that processes have used so far, with all their threads, in milliseconds. */
export function processorMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return sum + tickMs * (Number(fields[11]) + Number(fields[12]));
  }, 0);
}

type ProcessTimes = { parent: number; ticks: number };

/**
 * The processor time of processes and of all that they have started, those that have ended included, in milliseconds. A
 * PostgreSQL is its first process with one for each connection.
 */
export function processorMsOfTrees(pids: readonly number[]): number {
  const processes = runningProcesses();
  return tickMs * treesOf(pids, processes).reduce((sum, pid) => sum + processes.get(pid)!.ticks, 0);
}

/** The ids of processes and of their descendants. */
export function treesOf(
  pids: readonly number[],
  processes: ReadonlyMap<number, { parent: number }>,
): number[] {
  const trees = new Set(pids.filter((pid) => processes.has(pid)));
  // A child can have a lower id than its parent, so look until there is no further one.
  for (let size = -1; size !== trees.size; ) {
    size = trees.size;
    for (const [pid, { parent }] of processes) if (trees.has(parent)) trees.add(pid);
  }
  return [...trees];
}

/** All processes that run now. */
export function runningProcesses(): Map<number, ProcessTimes> {
  const processes = new Map<number, ProcessTimes>();
  for (const name of readdirSync("/proc")) {
    const times = /^\d+$/.test(name) ? timesOf(Number(name)) : null;
    if (times) processes.set(Number(name), times);
  }
  return processes;
}

/** Own ticks and those of children that have ended. Null for a process that has ended. */
function timesOf(pid: number): ProcessTimes | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ").map(Number);
    return { parent: fields[1]!, ticks: fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) };
  } catch {
    return null;
  }
}
