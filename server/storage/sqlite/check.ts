import type { CheckAnswer } from "./check-thread.ts";
import type { Damage } from "./damage.ts";
import type { OnStep } from "./open.ts";

/** What is used for less than that, such as by most commands, is not looked through. */
const afterMs = 1_000;

/**
 * Looks once through the whole database for damage, on a thread of its own, a moment after it was opened. Measured, a gigabyte takes one to three
 * seconds of a processor.
 */
export class Check {
  #timer: Timer | null;
  #thread: Worker | null = null;

  constructor(dataDirectory: string, damage: Damage, onInfo: OnStep) {
    this.#timer = setTimeout(() => {
      const thread = new Worker(new URL("./check-thread.ts", import.meta.url).href, {
        argv: [dataDirectory],
        smol: true,
      });
      this.#thread = thread;
      thread.onmessage = ({ data }: MessageEvent<CheckAnswer>) => {
        this.close();
        if (data.damage === null) onInfo("checked the database: no damage found", { ms: data.ms });
        else damage.found(data.damage);
      };
      // It could not open the database, which everybody else will tell of.
      thread.onerror = () => this.close();
    }, afterMs);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#thread?.terminate();
    this.#thread = null;
  }
}
