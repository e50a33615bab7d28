import { statfsSync } from "node:fs";
import type { Config } from "../config/config.ts";

/** Below this much free space, and this share of the disk, it counts as nearly full. */
const lowBytes = 1e9;
const lowShare = 0.1;

/** Whether the data directory's disk is nearly full. */
export function isDiskLow({ dataDirectory }: Pick<Config, "dataDirectory">): boolean {
  const { bavail, blocks, bsize } = statfsSync(dataDirectory);
  return bavail * bsize < Math.min(lowBytes, blocks * bsize * lowShare);
}

/** The free space on the data directory's disk, in bytes. */
export function freeBytes({ dataDirectory }: Pick<Config, "dataDirectory">): number {
  const { bavail, bsize } = statfsSync(dataDirectory);
  return bavail * bsize;
}
