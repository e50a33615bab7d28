import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { createPrivateFile } from "../../storage/private-file.ts";
import { UsageError } from "../with-store.ts";

const Saved = z.object({
  /** The file and the project that it is imported into. */
  input: z.string(),
  target: z.string(),
  /** All records up to this one are done. */
  records: z.int(),
  accepted: z.int(),
  /** Those of them that were there before. */
  duplicates: z.int().default(0),
  rejected: z.int(),
});
type Saved = z.infer<typeof Saved>;
type Done = Omit<Saved, "input" | "target">;

/** The file is written at most this often. What is imported again after a kill is found by its ID. */
const saveEveryMs = 1_000;

/** How far an import has come, in a file, so that it can continue after a kill. */
export class Checkpoint {
  readonly #file: string | null;
  readonly #about: Pick<Saved, "input" | "target">;
  #savedAtMs = Number.NEGATIVE_INFINITY;

  /** @param file - null to remember nothing */
  constructor(file: string | null, about: Pick<Saved, "input" | "target">) {
    this.#file = file;
    this.#about = about;
  }

  /** What was done before. Throws a UsageError if the file is another import's. */
  read(): Done {
    const none = { records: 0, accepted: 0, duplicates: 0, rejected: 0 };
    if (this.#file === null) return none;
    let text: string;
    try {
      text = readFileSync(this.#file, "utf8");
    } catch {
      return none;
    }
    const saved = Saved.safeParse(parsed(text)).data;
    if (saved && saved.input === this.#about.input && saved.target === this.#about.target) return saved;
    throw new UsageError(
      `${this.#file} is the checkpoint of another import. Delete it, or choose another with --checkpoint.`,
    );
  }

  save(done: Done): void {
    if (this.#file === null || performance.now() < this.#savedAtMs + saveEveryMs) return;
    this.#savedAtMs = performance.now();
    const written = `${this.#file}.new`;
    createPrivateFile(written);
    const descriptor = openSync(written, "w");
    writeFileSync(descriptor, JSON.stringify({ ...this.#about, ...done }));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(written, this.#file);
  }

  remove(): void {
    if (this.#file !== null) rmSync(this.#file, { force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
