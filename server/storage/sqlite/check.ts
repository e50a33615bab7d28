import { threadFile } from "../../process/program-files.ts";
import type { StoreWatch } from "../store.ts";
import type { CheckAnswer } from "./check-thread.ts";
import type { Damage } from "./damage.ts";

/** A database that is open for less than this, as for most commands, is not checked. */
const afterMs = 1_000;

/**
 * Checks for damage once, on a thread of its own, shortly after the database was opened. A gigabyte takes one to three
 * seconds of CPU time.
 *
 * Invariant: each start of a server checks the whole database for damage. Checked by
 * `server/storage/sqlite/damage.test.ts`.
 */
export class Check {
  #timer: Timer | null;
  #thread: Worker | null = null;

  constructor(dataDirectory: string, damage: Damage, onInfo: StoreWatch["onInfo"]) {
    this.#timer = setTimeout(() => {
      const thread = new Worker(threadFile("check").href, {
        argv: [dataDirectory],
        smol: true,
      });
      this.#thread = thread;
      thread.onmessage = ({ data }: MessageEvent<CheckAnswer>) => {
        this.close();
        if (data.damage === null) onInfo("checked the database: no damage found", { ms: data.ms });
        else damage.report(data.damage);
      };
      // The thread could not open the database. Other threads will report that.
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
