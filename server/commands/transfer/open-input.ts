import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** The bytes of a file, or of standard input for `-`, without compression. */
export function openInput(file: string, onBytes: (count: number) => void = () => {}): Readable {
  const raw = file === "-" ? Readable.fromWeb(Bun.stdin.stream() as never) : createReadStream(file);
  raw.on("data", (piece: Uint8Array) => onBytes(piece.length));
  raw.pause();
  if (!file.endsWith(".gz")) return raw;
  const plain = createGunzip();
  raw.on("error", (error) => plain.destroy(error));
  return raw.pipe(plain);
}
