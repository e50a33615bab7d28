import { closeSync, openSync, rmSync } from "node:fs";

/**
 * Creates an empty file that only its owner can read, in place of what has this name: in a directory that others can
 * write to, that may be a link to a file that must not be overwritten.
 */
export function createPrivateFile(path: string): void {
  rmSync(path, { force: true });
  closeSync(openSync(path, "wx", 0o600));
}
