import { closeSync, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { comparePositions, type WalPosition } from "./log-position.ts";
import { readSegment } from "./segment.ts";

/** Why a replay ended. */
export type ReplayEnd = "time" | "gap" | null;

/** Applies segments to a copy of the database that `copyPages` made. */
export class Replay {
  readonly #handle: number;
  readonly #untilMs: number;
  #position: WalPosition;
  /** The time of the last recovery point that was applied; null if none was. */
  reachedMs: number | null = null;
  /** `time`: the next point is after the time to recover. `gap`: changes before the next point are missing. */
  end: ReplayEnd = null;
  points = 0;

  /** @param untilMs - points after this are left out */
  constructor(file: string, position: WalPosition, untilMs: number) {
    this.#handle = openSync(file, "r+");
    this.#position = position;
    this.#untilMs = untilMs;
  }

  /** Applies the points of the next segment, each whole. Throws a DamagedSegment, after the points before the damage. */
  apply(segment: string): void {
    for (const { point, pages } of readSegment(segment)) {
      if (comparePositions(point.to, this.#position) <= 0) continue;
      if (comparePositions(point.from, this.#position) > 0) this.end = "gap";
      else if (point.atMs > this.#untilMs) this.end = "time";
      if (this.end) return;
      for (const [page, content] of pages())
        writeSync(this.#handle, content, 0, content.length, (page - 1) * point.pageBytes);
      ftruncateSync(this.#handle, point.databasePages * point.pageBytes);
      this.#position = point.to;
      this.reachedMs = point.atMs;
      this.points++;
    }
  }

  close(): void {
    fsyncSync(this.#handle);
    closeSync(this.#handle);
  }
}
