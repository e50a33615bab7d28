import { readdirSync, readFileSync } from "node:fs";

/** Below this, a server is short of connections before it is short of anything else. */
const enough = 4_096;
/** Files that the server needs for itself: the database, its threads, deliveries. */
const ownFiles = 100;

/**
 * A sentence for the log if the system allows this process few open files, and so few connections. Null if there are
 * enough, or where the limit can't be read: outside Linux. Bun has raised the limit as far as the system allows.
 */
export function fewOpenFiles(): string | null {
  const max = openFilesMax();
  if (max === null || max >= enough) return null;
  const connections = Math.max(0, max - ownFiles);
  return (
    `the system allows ${max.toLocaleString("en")} open files, which is about ${connections.toLocaleString("en")} connections and live streams; ` +
    `raise the limit: "ulimit -Hn 65536" in a shell, LimitNOFILE= in systemd, --ulimit nofile= for containers`
  );
}

/** Files and connections that are open, and how many the system allows. Null where that can't be read. */
export function openFiles(): { open: number; max: number } | null {
  const max = openFilesMax();
  return max === null ? null : { open: readdirSync("/proc/self/fd").length, max };
}

function openFilesMax(): number | null {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return null;
  }
}
