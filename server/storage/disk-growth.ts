import { z } from "zod";
import { freeBytes } from "./disk.ts";
import type { Store } from "./store.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How often it looks whether it is time for a sample, and the time between two samples. */
const lookEveryMs = 10 * 60_000;
const sampleEveryMs = 6 * hourMs;
/** Samples of two weeks. */
const samplesMax = 56;
/** Less than this shows a time of the day, not a rate. */
const knownAfterMs = dayMs;
/** A century: also the answer for a disk that does not fill. */
export const daysUntilFullMax = 36_500;

/** The name of its row in `settings`. */
const name = "diskSamples";

/** The free space of a disk at times, in milliseconds and bytes, oldest first. */
const DiskSamples = z.array(z.tuple([z.number(), z.number()]));
export type DiskSamples = z.infer<typeof DiskSamples>;

type Deps = { store: Store; dataDirectory: string; onError: (error: unknown) => void };

/** Follows the free space of the data directory's disk, to say when it will be full. */
export class DiskGrowth {
  readonly #deps: Deps;
  #timer: Timer | null = null;
  #newestMs: number | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(Date.now()), lookEveryMs);
    this.#timer.unref();
    void this.look(Date.now());
  }

  /** Stores a sample, if it is time. */
  async look(nowMs: number): Promise<void> {
    if (this.#newestMs !== null && isFresh(this.#newestMs, nowMs)) return;
    const { store, dataDirectory, onError } = this.#deps;
    try {
      const samples = (await this.#samples()).filter(([ms]) => ms <= nowMs);
      const newestMs = samples.at(-1)?.[0];
      if (newestMs === undefined || !isFresh(newestMs, nowMs)) {
        samples.push([nowMs, freeBytes(dataDirectory)]);
        const value = JSON.stringify(samples.slice(-samplesMax));
        await store.control
          .insertInto("settings")
          .values({ name, value })
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
          .execute();
      }
      this.#newestMs = samples.at(-1)![0];
    } catch (error) {
      onError(error);
    }
  }

  /** Days until the disk is full, at the rate of the last two weeks. Null in the first day. */
  async daysUntilFull(): Promise<number | null> {
    return daysUntilFull(await this.#samples(), [Date.now(), freeBytes(this.#deps.dataDirectory)]);
  }

  async #samples(): Promise<DiskSamples> {
    const row = await this.#deps.store.control
      .selectFrom("settings")
      .select("value")
      .where("name", "=", name)
      .executeTakeFirst();
    return row ? DiskSamples.parse(JSON.parse(row.value)) : [];
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
  }
}

/** One of a time to come is from a clock that was ahead. */
function isFresh(sampleMs: number, nowMs: number): boolean {
  return sampleMs <= nowMs && nowMs - sampleMs < sampleEveryMs;
}

/**
 * Days until a disk is full. The rate is the median of the rates between all pairs of samples, so that a copy which was
 * there for some hours, or a cleanup, changes it little (https://en.wikipedia.org/wiki/Theil-Sen_estimator).
 *
 * @param now - the sample of this moment
 */
export function daysUntilFull(samples: DiskSamples, now: DiskSamples[number]): number | null {
  const all = [...samples, now];
  if (now[0] - all[0]![0] < knownAfterMs) return null;
  const rates = all.flatMap(([fromMs, before], index) =>
    all
      .slice(index + 1)
      .filter(([toMs]) => toMs - fromMs >= sampleEveryMs)
      .map(([toMs, after]) => (before - after) / ((toMs - fromMs) / dayMs)),
  );
  const rate = rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)]!;
  return rate <= 0 ? daysUntilFullMax : Math.min(now[1] / rate, daysUntilFullMax);
}
