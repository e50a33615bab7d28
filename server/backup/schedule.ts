import type { Kysely } from "kysely";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { CommandRunner, RunningCommand } from "./command-runner.ts";
import { type LastBackup, lastBackup } from "./last-backup.ts";

const hourMs = 3_600_000;
/** How often to look whether a backup is due, and so the delay after a failed one. */
const lookEveryMs = 60_000;
const retryMs = hourMs;
/** Until there is a backup, changes of a new generation can't be restored. */
const retryBaseMs = 5 * 60_000;

type Deps = {
  control: Kysely<ControlTables>;
  config: Config;
  commands: CommandRunner;
  onError: (error: unknown) => void;
  /** Called after each backup that was made. */
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  /** Called with the reason after each attempt that failed. */
  onFailed: (why: string) => Promise<void>;
  /** Called when the last attempt succeeded, at each look. */
  onWorking: (last: LastBackup) => Promise<void>;
  /** The generation of changes that is being stored, which needs a backup; null if there is none. */
  generation?: () => string | null;
  now?: () => number;
};

/** Makes backups on schedule: `tidings backup` in a process of its own, which costs the server neither time nor memory. */
export class BackupSchedule {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #timer: Timer;
  #child: RunningCommand | null = null;
  #isBusy = false;
  #startedMs = 0;
  #retryAtMs = 0;
  #isClosed = false;
  /** Why the last attempt failed; null if it did not. */
  failure: string | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#timer = setInterval(() => this.look(), lookEveryMs);
    this.#timer.unref();
  }

  /** Makes a backup if one is due. */
  async look(): Promise<void> {
    if (this.#isBusy) {
      if (this.#now() - this.#startedMs > limits.backupRunHours * hourMs) this.#child?.kill("SIGKILL");
      return;
    }
    this.#isBusy = true;
    try {
      const last = await lastBackup(this.#deps.control);
      if (last && !this.#isDue(last)) {
        this.failure = null;
        return await this.#deps.onWorking(last);
      }
      if (this.#now() < this.#retryAtMs) return;
      await this.#attempt();
    } catch (error) {
      this.#deps.onError(error);
    } finally {
      this.#isBusy = false;
    }
  }

  #isDue(last: LastBackup): boolean {
    const isOld = this.#now() - Date.parse(last.at) >= this.#deps.config.backupHours * hourMs;
    return isOld || this.#needsBase(last);
  }

  #needsBase(last: LastBackup | null): boolean {
    const generation = this.#deps.generation?.() ?? null;
    return generation !== null && last?.generation !== generation;
  }

  async #attempt(): Promise<void> {
    const startMs = performance.now();
    try {
      await this.#run();
    } catch (error) {
      if (this.#isClosed) return;
      const needsBase = this.#needsBase(await lastBackup(this.#deps.control));
      this.#retryAtMs = this.#now() + (needsBase ? retryBaseMs : retryMs);
      this.failure = (error as Error).message;
      this.#deps.onError(error);
      await this.#deps.onFailed(this.failure);
      return;
    }
    this.failure = null;
    const last = await lastBackup(this.#deps.control);
    if (!last) return;
    const { file, bytes, events } = last;
    this.#deps.onInfo("made a scheduled backup", {
      file,
      bytes,
      events,
      ms: Math.round(performance.now() - startMs),
    });
    await this.#deps.onWorking(last);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#child?.kill();
  }

  async #run(): Promise<void> {
    const { commands, config } = this.#deps;
    this.#startedMs = this.#now();
    this.#child = commands.run("backup", "--to", config.backupTo!);
    try {
      await this.#child.output;
    } catch (error) {
      throw new Error(`The backup to ${config.backupTo} failed: ${(error as Error).message}`);
    } finally {
      this.#child = null;
    }
  }
}
