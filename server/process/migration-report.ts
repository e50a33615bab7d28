import { stderr } from "node:process";
import type { MigrationProgress } from "../storage/migrations.ts";

/** Nothing is told of a migration that is shorter, in milliseconds. */
const quietMs = 1_000;
/** Between two lines where there is no terminal: an upgrade is never silent for two seconds. */
const lineEveryMs = 1_500;
const barEveryMs = 250;
const barCharacters = 24;

/** Tells of a migration while it runs: as a bar on a terminal, otherwise in lines. */
export class MigrationReport {
  readonly #onLine: (text: string, progress: MigrationProgress) => void;
  readonly #isTerminal: boolean;
  readonly #write: (text: string) => void;
  #progress: MigrationProgress | null = null;
  #startedMs = 0;
  #timer: Timer | null = null;
  #isBarShown = false;

  /** @param onLine - called about every second and a half, if standard error is not a terminal */
  constructor(
    onLine: (text: string, progress: MigrationProgress) => void,
    isTerminal = stderr.isTTY === true,
    write: (text: string) => void = (text) => void stderr.write(text),
  ) {
    this.#onLine = onLine;
    this.#isTerminal = isTerminal;
    this.#write = write;
  }

  /** The store's `onMigrating`. */
  readonly observe = (progress: MigrationProgress | null): void => {
    if (progress && !this.#progress) {
      this.#startedMs = performance.now();
      this.#timer = setInterval(() => this.#tell(), this.#isTerminal ? barEveryMs : lineEveryMs);
    }
    if (!progress && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = null;
      this.hideBar();
    }
    this.#progress = progress;
  };

  /** Call it before a line of the log, which goes to the same terminal. The bar comes back by itself. */
  hideBar(): void {
    if (this.#isBarShown) this.#write("\r\u001b[K");
    this.#isBarShown = false;
  }

  /** The state as a sentence that anybody may read. Null if no migration runs. */
  get sentence(): string | null {
    return this.#progress && this.#sentenceOf({ ...this.#progress, detail: null });
  }

  #sentenceOf(progress: MigrationProgress): string {
    const { from, to } = progress;
    return `The database is being upgraded from schema ${from} to ${to}: ${this.#step(progress)}.`;
  }

  #tell(): void {
    if (!this.#progress || this.#elapsedMs < quietMs) return;
    if (!this.#isTerminal) this.#onLine(this.#sentenceOf(this.#progress), this.#progress);
    else {
      this.#isBarShown = true;
      this.#write(`\r\u001b[KUpgrading the database ${barOf(this.#progress)} ${this.#step(this.#progress)}`);
    }
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  #step({ step, number, of, share, detail }: MigrationProgress): string {
    const parts = [
      number === 0 ? `waiting for ${step}` : `step ${number} of ${of}, ${step}`,
      ...(share === null ? [] : [`${Math.floor(share * 100)}% of it done`]),
      ...(detail === null ? [] : [detail]),
      `${Math.floor(this.#elapsedMs / 1_000)} s so far`,
    ];
    return parts.join(", ");
  }
}

/** The share of the steps that is done. Each counts the same, as nothing tells how long it will take. */
function barOf({ number, of, share }: MigrationProgress): string {
  const done = Math.max(number - 1 + (share ?? 0), 0) / Math.max(of, 1);
  const filled = Math.round(done * barCharacters);
  return `[${"#".repeat(filled)}${"-".repeat(barCharacters - filled)}]`;
}
