import { z } from "zod";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { freeBytes } from "../storage/disk.ts";
import type { Store } from "../storage/store.ts";
import type { CommandRunner, RunningCommand } from "./command-runner.ts";
import { lastBackup } from "./last-backup.ts";
import { lastVerification, recordVerification } from "./last-verification.ts";

const dayMs = 86_400_000;
/** How often to look whether a verification is due. The first look leaves a starting server alone. */
const lookEveryMs = 3_600_000;
const retryMs = dayMs;

type Deps = {
  store: Store;
  config: Config;
  commands: CommandRunner;
  onError: (error: unknown) => void;
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  /** Called with the reason after each verification that failed. */
  onFailed: (why: string) => Promise<void>;
  onVerified: () => Promise<void>;
  now?: () => number;
};

/** What `tidings restore --check --json` prints. */
const Checked = z.object({
  checked: z.string(),
  events: z.int(),
  reached: z.string().nullable(),
  missing: z.string().nullable(),
});

/** Restores the newest backup to a temporary file, every month, and checks it: in a process of its own. */
export class VerificationSchedule {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #timer: Timer;
  #child: RunningCommand | null = null;
  #isBusy = false;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#timer = setInterval(() => void this.look(), lookEveryMs);
    this.#timer.unref();
  }

  /** Verifies the newest backup if that is due. */
  async look(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      if (await this.#isDue()) await this.#attempt();
    } catch (error) {
      if (!this.#isClosed) this.#deps.onError(error);
    } finally {
      this.#isBusy = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#child?.kill();
  }

  async #isDue(): Promise<boolean> {
    const { store, config } = this.#deps;
    if (config.backupVerifyDays === 0 || (await lastBackup(store.control)) === null) return false;
    const last = await lastVerification(store.control);
    const pauseMs = last?.ok === false ? retryMs : config.backupVerifyDays * dayMs;
    return last === null || this.#now() - Date.parse(last.at) >= pauseMs;
  }

  async #attempt(): Promise<void> {
    const { store, onInfo, onError, onFailed, onVerified } = this.#deps;
    const at = new Date(this.#now()).toISOString();
    const startMs = performance.now();
    let checked: z.infer<typeof Checked>;
    try {
      checked = await this.#run();
      if (checked.missing !== null) throw new Error(`Not all of it is there: ${checked.missing}.`);
    } catch (error) {
      if (this.#isClosed) return;
      const why = `The newest backup could not be restored to check it: ${(error as Error).message}`;
      await recordVerification(store.control, { at, ok: false, detail: why });
      onError(new Error(why));
      return onFailed(why);
    }
    const { checked: backup, reached, events } = checked;
    const until = reached === null ? "" : `, with changes until ${reached}`;
    await recordVerification(store.control, { at, ok: true, detail: `${backup}${until}: ${events} events` });
    onInfo("restored the newest backup to check it", {
      backup,
      reached,
      events,
      ms: Math.round(performance.now() - startMs),
    });
    await onVerified();
  }

  async #run(): Promise<z.infer<typeof Checked>> {
    const { store, config, commands } = this.#deps;
    const { backupTo, dataDirectory } = config;
    const needed = limits.backupCheckDatabases * (await store.bytes());
    if (freeBytes(dataDirectory) < needed)
      throw new Error(
        `it needs ${Math.ceil(needed / 1e6).toLocaleString("en")} MB of free space in ${dataDirectory}. Free some, or run "tidings restore --check" on another machine`,
      );
    this.#child = commands.run("restore", backupTo!, "--check", "--json");
    try {
      return Checked.parse(JSON.parse(await this.#child.output));
    } finally {
      this.#child = null;
    }
  }
}
