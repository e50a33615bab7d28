/**
 * Looks for texts in places of a database file that hold nothing any more. When SQLite moves rows from one page to another, a
 * copy may stay in the first one's unallocated space, which no `secure_delete` zeroes; `VACUUM` leaves no such copy.
 *
 * Run as a process of its own: closing the file in the server's would drop the locks that SQLite has on it
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2). The texts come by standard input, so that no list of processes shows them.
 */
import { open } from "node:fs/promises";

/** SQLite's default, which the files have. */
const pageBytes = 4_096;
const chunkBytes = 256 * pageBytes;

/** Whether one of the texts stands in unallocated space, or the file was made before deletes were zeroed. */
export async function hasResidue(file: string, texts: string[]): Promise<boolean> {
  const child = Bun.spawn([process.execPath, import.meta.path, file], {
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

async function look(file: string, texts: string[]): Promise<boolean> {
  const handle = await open(file, "r");
  const chunk = Buffer.alloc(chunkBytes);
  for (let at = 0; ; at += chunkBytes) {
    const { bytesRead } = await handle.read(chunk, 0, chunkBytes, at);
    if (bytesRead === 0) return false;
    // The header's number of the largest root page is zero where `auto_vacuum` is off, as it was in older files.
    if (at === 0 && chunk.readUInt32BE(52) === 0) return true;
    for (const text of texts) {
      for (let hit = chunk.indexOf(text); hit !== -1 && hit < bytesRead; hit = chunk.indexOf(text, hit + 1)) {
        if (isUnallocated(chunk, hit, at === 0)) return true;
      }
    }
  }
}

/** Whether a place lies between a page's cell pointers and its cells (https://www.sqlite.org/fileformat2.html#b_tree_pages). */
function isUnallocated(chunk: Buffer, place: number, isFirstChunk: boolean): boolean {
  const page = place - (place % pageBytes);
  // The first page begins with the file's header.
  const header = isFirstChunk && page === 0 ? 100 : page;
  const type = chunk[header]!;
  const isInterior = type === 2 || type === 5;
  if (!isInterior && type !== 10 && type !== 13) return false;
  const pointersEnd = header + (isInterior ? 12 : 8) + 2 * chunk.readUInt16BE(header + 3);
  return place >= pointersEnd && place < page + chunk.readUInt16BE(header + 5);
}

if (import.meta.main) {
  const texts = JSON.parse(await Bun.stdin.text()) as string[];
  process.stdout.write(String(await look(process.argv.at(-1)!, texts)));
}
