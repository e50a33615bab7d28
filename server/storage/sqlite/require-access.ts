import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import { databaseFile } from "./directory.ts";

const { R_OK, W_OK, X_OK } = constants;

/**
 * Throws if this process's user may not write to the data directory or to its files, and says whose they are. A
 * container's volume is often root's, and SQLite would only say that it can't open a file.
 */
export function requireAccess(dataDirectory: string): void {
  requireRights(dataDirectory, R_OK | W_OK | X_OK, dataDirectory);
  for (const file of [databaseFile(dataDirectory), join(dataDirectory, "tidings.lock")])
    requireRights(file, R_OK | W_OK, dataDirectory);
}

function requireRights(path: string, rights: number, dataDirectory: string): void {
  try {
    accessSync(path, rights);
  } catch (error) {
    // What is missing is created later, and what needs a writable file system says so itself.
    if ((error as NodeJS.ErrnoException).code === "EACCES") throw new Error(refusal(path, dataDirectory));
  }
}

function refusal(path: string, dataDirectory: string): string {
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  const { uid, gid, mode } = statSync(path);
  const rights = (mode & 0o777).toString(8).padStart(3, "0");
  return `user ${user} may not read and write ${path}, which belongs to user ${uid} and group ${gid}, with mode ${rights}. As root, run "chown -R ${user}:${group} ${dataDirectory}" (for a volume, on its path outside of the container), or set TIDINGS_DATA to a directory of that user.`;
}
