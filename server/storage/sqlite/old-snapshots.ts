import { rmSync, statSync } from "node:fs";
import type { StoreWatch } from "../store.ts";
import type { Damage } from "./damage.ts";
import { snapshotDays, snapshotsIn } from "./open.ts";

const dayMs = 86_400_000;
/** The first look comes after the check for damage of a usual database. */
const firstLookMs = 60_000;

/**
 * Deletes the snapshots of upgrades after `snapshotDays`: without what was recorded since, nobody goes back to them,
 * and each takes as much space as the database did. They stay if the database is damaged.
 */
export class OldSnapshots {
  readonly #dataDirectory: string;
  readonly #damage: Damage;
  readonly #onInfo: StoreWatch["onInfo"];
  #timer: Timer;

  constructor(dataDirectory: string, damage: Damage, onInfo: StoreWatch["onInfo"]) {
    this.#dataDirectory = dataDirectory;
    this.#damage = damage;
    this.#onInfo = onInfo;
    this.#timer = setTimeout(() => {
      this.remove();
      this.#timer = setInterval(() => this.remove(), dayMs);
      this.#timer.unref();
    }, firstLookMs);
    this.#timer.unref();
  }

  remove(nowMs = Date.now()): void {
    if (this.#damage.isFound) return;
    for (const { file } of snapshotsIn(this.#dataDirectory)) {
      const stat = statSync(file, { throwIfNoEntry: false });
      if (!stat || nowMs - stat.mtimeMs < snapshotDays * dayMs) continue;
      rmSync(file, { force: true });
      this.#onInfo(`deleted the snapshot of an upgrade more than ${snapshotDays} days ago`, {
        file,
        bytes: stat.size,
      });
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
