import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";

/** How much of a content's beginning is returned. */
const startBytes = 100;

/**
 * Compresses a file with Zstandard (RFC 8878) and its checksum of the content, reads it back, and compares. Throws if
 * the target does not hold the file.
 */
export async function compressFile(source: string, target: string): Promise<void> {
  const written = createHash("sha256");
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  await pipeline(
    createReadStream(source),
    hashing(written),
    compress,
    createWriteStream(target, { mode: 0o600, flush: true }),
  );
  const read = createHash("sha256");
  await pipeline(createReadStream(target), createZstdDecompress(), hashing(read), nowhere());
  if (read.digest("hex") !== written.digest("hex"))
    throw new Error(`${target} could not be read back as it was written. Check the disk.`);
}

/** Writes the content of a compressed file. Throws if it is damaged. Of one that is cut off, it writes what is there. */
export async function extractFile(source: string, target: string): Promise<void> {
  const isCompressed = await hasZstdFrame(source);
  const output = createWriteStream(target, { mode: 0o600, flush: true });
  if (isCompressed) await pipeline(createReadStream(source), createZstdDecompress(), output);
  else await pipeline(createReadStream(source), output);
}

/**
 * Reads a compressed file to its end, and compares its checksum. Throws if it is damaged. Of one that is cut off, Bun
 * reads what is there without an error, so the caller compares the length.
 */
export async function readArchive(file: string): Promise<{ bytes: number; start: Buffer }> {
  if (!(await hasZstdFrame(file))) throw new Error("it is not compressed as backups are");
  const content = { bytes: 0, start: Buffer.alloc(0) };
  const counting = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (content.start.length < startBytes)
        content.start = Buffer.concat([content.start, chunk.subarray(0, startBytes)]);
      content.bytes += chunk.length;
      done();
    },
  });
  await pipeline(createReadStream(file), createZstdDecompress(), counting);
  return content;
}

async function hasZstdFrame(file: string): Promise<boolean> {
  const handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  await handle.close();
  return buffer.readUInt32LE() === 0xfd2fb528;
}

function hashing(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
