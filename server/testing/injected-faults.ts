import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromSource } from "./server-process.ts";

/** Whether strace can change what system calls do: it must be installed, and allowed to trace. */
export const canInject =
  Bun.which("strace") !== null && Bun.spawnSync(["strace", "-qq", "-e", "trace=none", "true"]).success;

/**
 * Changes the system calls that wait for the disk (strace(1), "Tampering").
 *
 * @param fault - what happens to them, such as `delay_exit=200ms` or `error=EIO:when=50`
 */
export function faultyDisk(fault: string) {
  const directory = mkdtempSync(join(tmpdir(), "tidings-strace-"));
  const log = join(directory, "log");
  const calls = "fsync,fdatasync";
  return {
    // With `-D`, the tracer is the child, and the process that is started is the server.
    program: [
      ...["strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", log],
      ...["-e", `trace=${calls}`, "-e", `inject=${calls}:${fault}`, ...fromSource],
    ],
    /** How often a process waited for the disk. */
    calls: (): number => readFileSync(log, "utf8").match(/ (?:fsync|fdatasync)\(/g)?.length ?? 0,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
