/** Hashes of so many pages take 8 MB. */
const knownMax = 65_536;

/**
 * The contents of pages that were captured last, as hashes. It finds pages that a commit wrote without a change: those
 * of an idle server, for example.
 */
export class KnownPages {
  readonly #hashes = new Map<number, bigint>();
  #databasePages = 0;

  /** The pages that changed, in order. */
  changed(
    pages: ReadonlyMap<number, number>,
    { pageBytes, databasePages }: { pageBytes: number; databasePages: number },
    readPage: (frame: number, into: Buffer) => void,
  ): number[] {
    // A page beyond the end is gone. If it comes back as it was, it has to be captured again.
    if (databasePages < this.#databasePages)
      for (const page of this.#hashes.keys()) if (page > databasePages) this.#hashes.delete(page);
    this.#databasePages = databasePages;
    const content = Buffer.alloc(pageBytes);
    const changed: number[] = [];
    for (const [page, frame] of pages) {
      // A page that was added and removed again.
      if (page > databasePages) continue;
      readPage(frame, content);
      const hash = Bun.hash.xxHash64(content);
      if (this.#hashes.get(page) === hash) continue;
      if (this.#hashes.size >= knownMax) this.#hashes.clear();
      this.#hashes.set(page, hash);
      changed.push(page);
    }
    return changed.sort((a, b) => a - b);
  }
}
