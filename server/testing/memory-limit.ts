import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { until } from "./until.ts";

const megabyte = 1_048_576;
const root = "/sys/fs/cgroup";

/** Where groups are made, and the files of a group: version 2, or version 1 with a hierarchy for memory alone. */
const layout = existsSync(join(root, "cgroup.controllers"))
  ? { parent: root, limit: "memory.max", events: "memory.events" }
  : { parent: join(root, "memory"), limit: "memory.limit_in_bytes", events: "memory.oom_control" };

/**
 * A control group (cgroups(7)) whose processes may use this much memory together, the system's cache of their files
 * included; the kernel kills what needs more. Null if none can be made: that needs root on Linux.
 */
export function memoryLimit(megabytes: number) {
  const directory = join(layout.parent, `tidings-test-${crypto.randomUUID()}`);
  try {
    mkdirSync(directory);
    writeFileSync(join(directory, layout.limit), `${megabytes * megabyte}`);
  } catch {
    if (existsSync(directory)) rmdirSync(directory);
    return null;
  }
  // The directory for temporary files can be in memory, which would be charged to the group.
  const files = mkdtempSync("/var/tmp/tidings-memory-limit-");
  return {
    /** A directory on a disk, which is removed with the group. */
    files,
    /**
     * A program that joins the group and then runs a copy of `program`: the kernel charges the pages of a file to the
     * group that reads it first, and an image's files are a container's own.
     */
    around([file, ...args]: string[]): string[] {
      const joining = 'echo $$ > "$0" && cp "$1" "$2" && shift && exec "$@"';
      const copy = join(files, basename(file!));
      return ["sh", "-c", joining, join(directory, "cgroup.procs"), file!, copy, ...args];
    },
    /** How many processes were killed for want of memory. */
    killed(): number {
      const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync(join(directory, layout.events), "utf8"))!;
      return Number(count);
    },
    /** Call it when the group's processes have ended, or were killed. */
    async [Symbol.asyncDispose](): Promise<void> {
      await until(() => readFileSync(join(directory, "cgroup.procs"), "utf8") === "");
      rmdirSync(directory);
      rmSync(files, { recursive: true });
    },
  };
}
