import { statfsSync } from "node:fs";

/** A disk is nearly full below this much free space and below this share of its size. */
const lowBytes = 1e9;
const lowShare = 0.1;

/** Whether a directory's disk is nearly full. */
export function isDiskLow(directory: string): boolean {
  const { bavail, blocks, bsize } = statfsSync(directory);
  return bavail * bsize < Math.min(lowBytes, blocks * bsize * lowShare);
}

/** The free space on a directory's disk, in bytes. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
