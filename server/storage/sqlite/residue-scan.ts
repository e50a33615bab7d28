/**
 * Searches the unallocated space of a database file for texts. When SQLite moves rows to another page, a copy can stay
 * in the first page's unallocated space, which `secure_delete` does not zero.
 *
 * It runs as a process of its own: closing the file within the server would drop SQLite's locks on it
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2). The texts come through standard input, so that they are not
 * in the process list.
 */
import { open } from "node:fs/promises";
import { ownCommand } from "../../process/program-files.ts";
import { pageBytes, unallocatedIn } from "./unallocated.ts";

const chunkPages = 256;
const zeros = Buffer.alloc(pageBytes);

export type Residue = {
  /** The file is so old that deletes were not zeroed. */
  isOldFile: boolean;
  /** Numbers of the pages that have one of the texts in unallocated space. */
  pages: number[];
};

export async function findResidue(file: string, texts: string[]): Promise<Residue> {
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
  return JSON.parse(answer) as Residue;
}

async function scanFile(file: string, texts: string[]): Promise<Residue> {
  const handle = await open(file, "r");
  const chunk = Buffer.alloc(chunkPages * pageBytes);
  const pages: number[] = [];
  for (let first = 1; ; first += chunkPages) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, (first - 1) * pageBytes);
    if (bytesRead === 0) return { isOldFile: false, pages };
    // Offset 52 of the header, the largest root page, is zero if `auto_vacuum` is off, as in older files.
    if (first === 1 && chunk.readUInt32BE(52) === 0) return { isOldFile: true, pages: [] };
    for (let at = 0; at + pageBytes <= bytesRead; at += pageBytes) {
      const number = first + at / pageBytes;
      const page = chunk.subarray(at, at + pageBytes);
      const space = unallocatedIn(page, number);
      const content = space && page.subarray(space.from, space.to);
      // Most is zero, and some texts are short.
      if (!content || content.equals(zeros.subarray(0, content.length))) continue;
      if (texts.some((text) => content.includes(text))) pages.push(number);
    }
  }
}

/** The process: `tidings scan-residue FILE`, with the texts as JSON on standard input. Prints the residue as JSON. */
export async function scanResidue(file: string): Promise<void> {
  const texts = JSON.parse(await Bun.stdin.text()) as string[];
  process.stdout.write(JSON.stringify(await scanFile(file, texts)));
}
