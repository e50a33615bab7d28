import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Resource usage of a process, from `/proc` if there is one: polled often, `ps` itself would be most of the load. */
const hasProc = existsSync("/proc/self/stat");
const pageBytes = 4_096;
const tickMs = 10;

/** Resident memory in megabytes. */
export function memoryMbOf(pid: number): number {
  if (!hasProc) return Number(ps("rss=", pid)) / 1_024;
  const [, resident] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
  return (Number(resident) * pageBytes) / 1_048_576;
}

/**
 * Processor time of all threads since the start, in milliseconds, with a resolution of 10 ms. Other load does not
 * affect it.
 */
export function processorMsOf(pid: number): number {
  if (!hasProc) return secondsIn(ps("time=", pid)) * 1_000;
  // The command is in parentheses and may contain spaces; utime and stime are fields 14 and 15 (proc_pid_stat(5)).
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Whether all threads of a process have stopped after SIGSTOP. Linux only. */
export function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const [, state] = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8").split(") ");
    return state!.startsWith("T");
  });
}

function ps(column: string, pid: number): string {
  return Bun.spawnSync(["ps", "-o", column, "-p", `${pid}`])
    .stdout.toString()
    .trim();
}

/** Reads `[[dd-]hh:]mm:ss`. */
function secondsIn(time: string): number {
  return time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0);
}
