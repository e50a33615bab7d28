import { showsProgress } from "../output.ts";

const printEveryMs = 500;

/** Shows on a terminal's standard error how far a transfer is, in one line. */
export class TransferProgress {
  readonly #startMs = performance.now();
  readonly #timer: Timer | null;
  #count = 0;
  /** Between 0 and 1, or null if the end is not known. */
  readonly #share: () => number | null;

  constructor(share: () => number | null) {
    this.#share = share;
    this.#timer = showsProgress() ? setInterval(() => this.#print(), printEveryMs) : null;
  }

  add(count: number): void {
    this.#count += count;
  }

  /** Ends the line. Returns the seconds it took. */
  end(): number {
    if (this.#timer) {
      clearInterval(this.#timer);
      process.stderr.write("\r\u001b[K");
    }
    return (performance.now() - this.#startMs) / 1_000;
  }

  #print(): void {
    const seconds = (performance.now() - this.#startMs) / 1_000;
    const share = this.#share();
    const percent = share === null ? "" : `${Math.min(99, Math.floor(share * 100))}%, `;
    const rate = Math.round(this.#count / seconds).toLocaleString("en");
    process.stderr.write(`\r\u001b[K${percent}${this.#count.toLocaleString("en")} events, ${rate} a second`);
  }
}
