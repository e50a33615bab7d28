import { readFileSync } from "node:fs";

/** Below this, a server is short of connections before it is short of anything else. */
const enough = 4_096;
/** Files that the server needs for itself: the database, its threads, deliveries. */
const ownFiles = 100;

/**
 * A sentence for the log if the system allows this process few open files, and so few connections. Null if there are
 * enough, or where the limit can't be read: outside Linux. Bun has raised the limit as far as the system allows.
 */
export function fewOpenFiles(): string | null {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    return null;
  }
  const max = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  if (max >= enough) return null;
  const connections = Math.max(0, max - ownFiles);
  return (
    `the system allows ${max.toLocaleString("en")} open files, which is about ${connections.toLocaleString("en")} connections and live streams; ` +
    `raise the limit: "ulimit -Hn 65536" in a shell, LimitNOFILE= in systemd, --ulimit nofile= for containers`
  );
}
