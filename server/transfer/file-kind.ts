/** How the content of files begins. */
const beginnings = {
  gzip: "1f8b",
  zstd: "28b52ffd",
  zip: "504b0304",
  bzip2: "425a68",
  xz: "fd377a58",
  parquet: "50415231",
} as const;

export const magicBytes = 4;

/** What a file is by its first `magicBytes`; `plain` for a text. */
export function fileKind(start: Uint8Array): keyof typeof beginnings | "plain" {
  const hex = [...start.subarray(0, magicBytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const kinds = Object.keys(beginnings) as (keyof typeof beginnings)[];
  return kinds.find((kind) => hex.startsWith(beginnings[kind])) ?? "plain";
}
