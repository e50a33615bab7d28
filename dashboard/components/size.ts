import { formatTenths } from "./locale.ts";

/** A number of bytes for people: "13 kB", "7.1 MB", "79.4 GB". */
export function sizeOf(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${formatTenths(bytes / 1e6)} MB` : `${formatTenths(bytes / 1e9)} GB`;
}
