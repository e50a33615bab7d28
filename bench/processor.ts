import { readFileSync } from "node:fs";

/** Linux counts processor time in ticks of so many milliseconds (proc(5)). */
const tickMs = 10;

/** The processor time that processes have used so far, with all their threads, in milliseconds. */
export function processorMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return sum + tickMs * (Number(fields[11]) + Number(fields[12]));
  }, 0);
}
