/**
 * Searches the unallocated space of a database file for texts. When SQLite moves rows to another page, a copy can stay
 * in the first page's unallocated space, which `secure_delete` does not zero. `VACUUM` leaves no such copy.
 *
 * It runs as a process of its own: closing the file within the server would drop SQLite's locks on it
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2). The texts come through standard input, so that they are not
 * in the process list.
 */
import { open } from "node:fs/promises";
import { ownCommand } from "../../process/program-files.ts";

/** SQLite's default, which all our files use. */
const pageBytes = 4_096;
const chunkBytes = 256 * pageBytes;

/** Whether one of the texts is in unallocated space, or the file is so old that deletes were not zeroed. */
export async function hasResidue(file: string, texts: string[]): Promise<boolean> {
  const child = Bun.spawn(ownCommand("scan-residue", file), {
    stdin: new Blob([JSON.stringify(texts)]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [answer, failure] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0)
    throw new Error(`The database file could not be looked through: ${failure}`);
  return answer === "true";
}

async function scanFile(file: string, texts: string[]): Promise<boolean> {
  const handle = await open(file, "r");
  const chunk = Buffer.alloc(chunkBytes);
  for (let at = 0; ; at += chunkBytes) {
    const { bytesRead } = await handle.read(chunk, 0, chunkBytes, at);
    if (bytesRead === 0) return false;
    // Offset 52 of the header, the largest root page, is zero if `auto_vacuum` is off, as in older files.
    if (at === 0 && chunk.readUInt32BE(52) === 0) return true;
    for (const text of texts) {
      for (let hit = chunk.indexOf(text); hit !== -1 && hit < bytesRead; hit = chunk.indexOf(text, hit + 1)) {
        if (isUnallocated(chunk, hit, at === 0)) return true;
      }
    }
  }
}

/**
 * Whether an offset is between a page's cell pointers and its cells
 * (https://www.sqlite.org/fileformat2.html#b_tree_pages).
 */
function isUnallocated(chunk: Buffer, offset: number, isFirstChunk: boolean): boolean {
  const page = offset - (offset % pageBytes);
  // The first page begins with the file header.
  const header = isFirstChunk && page === 0 ? 100 : page;
  const type = chunk[header]!;
  const isInterior = type === 2 || type === 5;
  if (!isInterior && type !== 10 && type !== 13) return false;
  const pointersEnd = header + (isInterior ? 12 : 8) + 2 * chunk.readUInt16BE(header + 3);
  return offset >= pointersEnd && offset < page + chunk.readUInt16BE(header + 5);
}

/** The process: `tidings scan-residue FILE`, with the texts as JSON on standard input. Prints the answer. */
export async function scanResidue(file: string): Promise<void> {
  const texts = JSON.parse(await Bun.stdin.text()) as string[];
  process.stdout.write(String(await scanFile(file, texts)));
}
