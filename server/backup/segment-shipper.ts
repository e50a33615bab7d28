import type { Config } from "../config/config.ts";
import type { SegmentSource } from "../storage/segment-source.ts";
import { type BackupStore, openBackupStore } from "./backup-store.ts";

/** The longest pause after attempts that failed. */
const retryMaxMs = 60_000;
/** The owner is told after this long without success: a store that is down for a minute is nobody's business. */
const tellAfterMs = 5 * 60_000;
/** The time that a server that stops gives the last changes to be stored. */
const lastShipMs = 10_000;

type Deps = {
  source: SegmentSource;
  config: Config;
  onError: (error: unknown) => void;
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  /** Called when a generation began: it can be restored once there is a backup. */
  onBegun: () => void;
  /** Called with the reason while changes have not been stored for long. */
  onFailed: (why: string) => Promise<void>;
  /** Called after each round in which all changes were stored. */
  onWorking: () => Promise<void>;
  now?: () => number;
};

/** Stores the segments of changes where the backups are, every few seconds. Without changes, it stores nothing. */
export class SegmentShipper {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #place: BackupStore;
  #timer: Timer | null = null;
  #round: Promise<void> = Promise.resolve();
  #failures = 0;
  #isClosed = false;
  #isFirst = true;
  #reported: string | null = null;
  /** When all changes were stored last. */
  #workingMs: number;
  /** Since when changes were in no generation with a backup, if this one has none yet. */
  #unusableSinceMs: number;
  /** Why the last attempt failed; null if it did not. */
  failure: string | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#place = openBackupStore(deps.config.backupTo!, deps.config);
    this.#workingMs = this.#now();
    this.#unusableSinceMs = this.#workingMs;
  }

  start(): void {
    this.#schedule(0);
  }

  get generation(): string | null {
    return this.#deps.source.generation;
  }

  /**
   * The age of the oldest change that can't be restored yet; 0 if all can.
   *
   * @param backedUp - the generation of the last backup
   */
  behindSeconds(backedUp: string | undefined): number {
    const { generation, unshippedSinceMs } = this.#deps.source;
    let sinceMs: number | null = this.#workingMs;
    if (generation !== null) sinceMs = generation === backedUp ? unshippedSinceMs : this.#unusableSinceMs;
    return sinceMs === null ? 0 : Math.max(0, (this.#now() - sinceMs) / 1_000);
  }

  /** Stores what has changed. Call it once at a time. */
  async ship(): Promise<void> {
    const { source } = this.#deps;
    try {
      if (source.generation === null) await this.#begin();
      await source.cut();
      await this.#shipWaiting();
    } catch (error) {
      await this.#failed(error as Error);
      return;
    }
    this.#failures = 0;
    this.failure = null;
    this.#reported = null;
    this.#isFirst = false;
    this.#workingMs = this.#now();
    await this.#deps.onWorking();
  }

  stop(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    return Promise.race([this.#round, Bun.sleep(lastShipMs)]);
  }

  /** Stores the changes from before the store was closed. Those that can't be are stored after the next start. */
  async shipRest(): Promise<void> {
    await Promise.race([
      this.#shipWaiting().catch((error: unknown) => this.#deps.onError(error)),
      Bun.sleep(lastShipMs),
    ]);
  }

  async #begin(): Promise<void> {
    const { source, onError, onInfo, onBegun, onFailed } = this.#deps;
    const { interruption } = source;
    // After a start, changes of a command may be missing. The new generation begins at once.
    if (interruption !== null && this.#isFirst)
      onInfo("a new sequence of changes begins, because the last one can't be continued", {
        why: interruption,
      });
    else if (interruption !== null && interruption !== this.#reported) {
      this.#reported = interruption;
      const why = `The continuous backup was interrupted: ${interruption}. Changes from before the next backup can't be restored to each second.`;
      onError(new Error(why));
      await onFailed(why);
    }
    // A generation that can't be stored would only fill the disk.
    await this.#place.folders();
    await source.begin();
    if (source.generation === null) throw new Error(`Changes can't be captured: ${source.interruption}.`);
    this.#unusableSinceMs = this.#workingMs;
    onInfo("began to back up changes", { generation: source.generation });
    onBegun();
  }

  async #shipWaiting(): Promise<void> {
    const { source } = this.#deps;
    for (const { name, file } of [...source.waiting]) {
      // The generation can end meanwhile, and its files with it.
      const { generation } = source;
      if (generation === null) return;
      await this.#place.put(`${generation}/${name}`, file);
      await source.shipped(name);
    }
  }

  async #failed(error: Error): Promise<void> {
    this.#failures++;
    const isNew = error.message !== this.failure;
    this.failure = error.message;
    if (this.#isClosed) return;
    if (isNew) this.#deps.onError(error);
    if (this.#now() - this.#workingMs > tellAfterMs) await this.#deps.onFailed(this.failure);
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#round = this.ship()
        .catch((error: unknown) => this.#deps.onError(error))
        .finally(() => this.#schedule(this.#pauseMs()));
    }, ms);
    this.#timer.unref();
  }

  #pauseMs(): number {
    const usualMs = this.#deps.config.backupSeconds * 1_000;
    return Math.max(usualMs, Math.min(usualMs * 2 ** this.#failures, retryMaxMs));
  }
}
