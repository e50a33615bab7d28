import type { Query } from "./query.ts";

/** A partition of the events, by the end of its name; the oldest has no beginning. */
export type Partition = { suffix: string; fromMs: number | null; toMs: number };

/** The partitions that there are, the oldest first. */
export async function readPartitions(ask: Query): Promise<Partition[]> {
  const rows = await ask<{ suffix: string; bound: string }>(
    `SELECT substr(relname, length('events_') + 1) AS suffix, pg_get_expr(relpartbound, oid) AS bound
     FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'events'::regclass AND NOT inhdetachpending`,
  );
  const partitions = rows.map(({ suffix, bound }) => {
    const [, from, to] = /FROM \((?:MINVALUE|'(-?\d+)')\) TO \('(-?\d+)'\)/.exec(bound)!;
    return { suffix, fromMs: from === undefined ? null : Number(from), toMs: Number(to) };
  });
  return partitions.sort((a, b) => a.toMs - b.toMs);
}

/**
 * The partitions of the events: one for each month (in UTC), and one for all before the first month. A month's is made before its
 * first event is stored.
 */
export class Partitions {
  readonly #ask: Query;
  #names: Set<string> | null = null;
  #firstMs = 0;
  /** The month that was needed last, as a rule the one that is needed next. */
  #month = { fromMs: 0, toMs: 0 };

  constructor(ask: Query) {
    this.#ask = ask;
  }

  /** Whether there is surely a partition for a moment; quick, as it is asked for each event. */
  holds(ms: number): boolean {
    if (ms >= this.#month.fromMs && ms < this.#month.toMs) return true;
    if (this.#names === null || !(ms < this.#firstMs || this.#names.has(suffixOf(ms)))) return false;
    if (ms >= this.#firstMs) this.#month = monthOf(ms);
    return true;
  }

  /** Makes what is missing for events of these moments. */
  async make(moments: Iterable<number>): Promise<void> {
    if (this.#names === null) await this.#read();
    const missing = new Map<string, number>();
    for (const ms of moments) if (!this.holds(ms)) missing.set(suffixOf(ms), ms);
    for (const [suffix, ms] of missing) {
      const { fromMs, toMs } = monthOf(ms);
      await this.#ask("SELECT make_partition($1, $2, $3)", [suffix, fromMs, toMs]);
      this.#names!.add(suffix);
    }
  }

  /** What is there is looked up anew: another node may have dropped some. */
  forget(): void {
    this.#names = null;
    this.#month = { fromMs: 0, toMs: 0 };
  }

  async #read(): Promise<void> {
    const partitions = await readPartitions(this.#ask);
    this.#firstMs = partitions[0]!.toMs;
    this.#names = new Set(partitions.map(({ suffix }) => suffix));
  }
}

/** Such as `2026_01`. */
function suffixOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7).replace("-", "_");
}

function monthOf(ms: number): { fromMs: number; toMs: number } {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) };
}
