import type { Kysely } from "kysely";
import type { Config } from "../config.ts";
import { ownCommand } from "../program-files.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { lastBackup } from "./last-backup.ts";

const hourMs = 3_600_000;
/** How often to look whether a backup is due, and so the delay after a failed one. */
const lookEveryMs = 60_000;
const retryMs = hourMs;

type Deps = {
  control: Kysely<ControlTables>;
  config: Config;
  onError: (error: unknown) => void;
  now?: () => number;
};

/** Makes backups on schedule: `tidings backup` in a process of its own, which costs the server neither time nor memory. */
export class BackupSchedule {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #timer: Timer;
  #child: Bun.Subprocess<"ignore", "ignore", "pipe"> | null = null;
  #retryAtMs = 0;
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
    if (this.#child || this.#now() < this.#retryAtMs) return;
    try {
      const last = await lastBackup(this.#deps.control);
      const { backupHours } = this.#deps.config;
      if (last && this.#now() - Date.parse(last.at) < backupHours * hourMs) return;
      await this.#run();
      this.failure = null;
    } catch (error) {
      this.#retryAtMs = this.#now() + retryMs;
      this.failure = (error as Error).message;
      this.#deps.onError(error);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#child?.kill();
  }

  async #run(): Promise<void> {
    if (this.#child) return;
    const { backupTo, dataDirectory } = this.#deps.config;
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
