import { statfsSync } from "node:fs";
import type { Config } from "../config.ts";

/** The free space on the data directory's disk, in bytes. */
export function freeBytes({ dataDirectory }: Pick<Config, "dataDirectory">): number {
  const { bavail, bsize } = statfsSync(dataDirectory);
  return bavail * bsize;
}
