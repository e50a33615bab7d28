import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { fileKind, magicBytes } from "../../transfer/file-kind.ts";
import { UsageError } from "../with-store.ts";

const pieceBytes = 65_536;
/**
 * The bytes of a file, or of standard input for `-`, without gzip or zstd, which it knows by the first bytes. Throws a
 * UsageError for other compression, and for a file that is damaged.
 *
 * @param onBytes - called with the number of bytes of each piece of the file itself
 */
export async function* openInput(
  file: string,
  onBytes: (count: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const stream = file === "-" ? Bun.stdin.stream() : createReadStream(file, { highWaterMark: pieceBytes });
  const pieces = counted(stream as AsyncIterable<Uint8Array>, onBytes);
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < magicBytes) {
    const { value, done } = await pieces.next();
    if (done) break;
    first.push(value);
    length += value.length;
  }
  const kind = fileKind(Buffer.concat(first));
  const name = file === "-" ? "Standard input" : file;
  if (kind === "zip" || kind === "bzip2" || kind === "xz")
    throw new UsageError(
      `${name} is a compressed archive. Unpack it, or pipe its content into: tidings import -`,
    );
  if (kind === "parquet")
    throw new UsageError(`${name} is a Parquet file. Convert it to NDJSON or CSV, for example with DuckDB.`);
  if (kind === "plain") {
    yield* first;
    yield* pieces;
    return;
  }
  const decompress = kind === "gzip" ? createGunzip() : createZstdDecompress();
  // An error arrives where the decompressed bytes are read.
  const plain = pipeline(Readable.from(chained(first, pieces)), decompress, () => {});
  try {
    yield* plain as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new UsageError(`${name} is cut off or damaged: ${(error as Error).message}.`);
  }
}

async function* counted(pieces: AsyncIterable<Uint8Array>, onBytes: (count: number) => void) {
  for await (const piece of pieces) {
    onBytes(piece.length);
    yield piece;
  }
}

async function* chained(first: Uint8Array[], rest: AsyncIterable<Uint8Array>) {
  yield* first;
  yield* rest;
}
