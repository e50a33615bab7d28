import type { Kysely } from "kysely";
import type { Config } from "../config/config.ts";
import { ownCommand } from "../process/program-files.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type LastBackup, lastBackup } from "./last-backup.ts";

const hourMs = 3_600_000;
/** How often to look whether a backup is due, and so the delay after a failed one. */
const lookEveryMs = 60_000;
const retryMs = hourMs;
/** A backup that takes longer has stopped, such as at a store that doesn't answer. */
const backupMaxMs = 12 * hourMs;

type Deps = {
  control: Kysely<ControlTables>;
  config: Config;
  onError: (error: unknown) => void;
  /** Called after each backup that was made. */
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  /** Called with the reason after each attempt that failed. */
  onFailed: (why: string) => Promise<void>;
  /** Called when the last attempt succeeded, at each look. */
  onWorking: (last: LastBackup) => Promise<void>;
  now?: () => number;
};

/** Makes backups on schedule: `tidings backup` in a process of its own, which costs the server neither time nor memory. */
export class BackupSchedule {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #timer: Timer;
  #child: Bun.Subprocess<"ignore", "ignore", "pipe"> | null = null;
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
    if (this.#child) {
      if (this.#now() - this.#startedMs > backupMaxMs) this.#child.kill("SIGKILL");
      return;
    }
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
    }
  }

  #isDue(last: LastBackup): boolean {
    return this.#now() - Date.parse(last.at) >= this.#deps.config.backupHours * hourMs;
  }

  async #attempt(): Promise<void> {
    const startMs = performance.now();
    try {
      await this.#run();
    } catch (error) {
      if (this.#isClosed) return;
      this.#retryAtMs = this.#now() + retryMs;
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
    const { backupTo, dataDirectory } = this.#deps.config;
    this.#startedMs = this.#now();
    this.#child = Bun.spawn(ownCommand("backup", "--to", backupTo!), {
      env: { ...process.env, TIDINGS_DATA: dataDirectory },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    let text: string;
    let code: number;
    try {
      text = await new Response(this.#child.stderr).text();
      code = await this.#child.exited;
    } finally {
      this.#child = null;
    }
    if (code !== 0)
      throw new Error(`The backup to ${backupTo} failed: ${text.trim() || `exit code ${code}`}`);
  }
}
