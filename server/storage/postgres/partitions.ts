import type { Query } from "./query.ts";

/** Smaller tables are fast to search with any plan. */
const analyzedBytesMin = 1_048_576;
/** Statistics are from a sample, so they take some seconds however large a table is. */
const analyzeMs = 120_000;

/** A partition of `events`; `suffix` is the end of its name. The oldest has no beginning. */
type Partition = { name: string; suffix: string; fromMs: number | null; toMs: number };

/** The existing partitions, oldest first. */
export async function readPartitions(runQuery: Query): Promise<Partition[]> {
  const rows = await runQuery<{ name: string; bound: string }>(
    `SELECT relname AS name, pg_get_expr(relpartbound, oid) AS bound
     FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'events'::regclass AND NOT inhdetachpending`,
  );
  const partitions = rows.map(({ name, bound }) => {
    const suffix = name.slice("events_".length);
    const [, from, to] = /FROM \((?:MINVALUE|'(-?\d+)')\) TO \('(-?\d+)'\)/.exec(bound)!;
    return { name, suffix, fromMs: from === undefined ? null : Number(from), toMs: Number(to) };
  });
  return partitions.sort((a, b) => a.toMs - b.toMs);
}

/**
 * Analyzes the tables that have no statistics yet, of those that grow with events and users. Autovacuum would do so a
 * minute later, and until then searches have bad plans.
 */
export async function analyzeTables(runQuery: Query): Promise<void> {
  const tables = await runQuery<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE reltuples < 0 AND pg_relation_size(oid) >= $1 AND (
       oid = ANY ('{users,user_activity,vocabulary}'::regclass[])
       OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass AND NOT inhdetachpending))`,
    [analyzedBytesMin],
  );
  for (const { name } of tables) await runQuery(`ANALYZE (SKIP_LOCKED) ${name}`, [], analyzeMs);
}

/**
 * Creates the partitions of `events`: one for each month (in UTC), before its first event is stored. One partition has
 * everything before the first month.
 */
export class Partitions {
  readonly #runQuery: Query;
  #names: Set<string> | null = null;
  #firstMs = 0;
  /** The month used last, which is mostly the next one used. */
  #month = { fromMs: 0, toMs: 0 };

  constructor(runQuery: Query) {
    this.#runQuery = runQuery;
  }

  /**
   * Whether there is a partition for a timestamp, as far as this process knows. Fast, as it is called for each event.
   */
  holds(ms: number): boolean {
    if (ms >= this.#month.fromMs && ms < this.#month.toMs) return true;
    if (this.#names === null || !(ms < this.#firstMs || this.#names.has(suffixOf(ms)))) return false;
    if (ms >= this.#firstMs) this.#month = monthOf(ms);
    return true;
  }

  /** Creates the missing partitions for these timestamps. */
  async make(timestamps: Iterable<number>): Promise<void> {
    if (this.#names === null) await this.#read();
    const missing = new Map<string, number>();
    for (const ms of timestamps) if (!this.holds(ms)) missing.set(suffixOf(ms), ms);
    for (const [suffix, ms] of missing) {
      const { fromMs, toMs } = monthOf(ms);
      await this.#runQuery("SELECT make_partition($1, $2, $3)", [suffix, fromMs, toMs]);
      this.#names!.add(suffix);
    }
  }

  /** The known partitions are read again: another node can have dropped some. */
  invalidate(): void {
    this.#names = null;
    this.#month = { fromMs: 0, toMs: 0 };
  }

  async #read(): Promise<void> {
    const partitions = await readPartitions(this.#runQuery);
    this.#firstMs = partitions[0]!.toMs;
    this.#names = new Set(partitions.map(({ suffix }) => suffix));
  }
}

/** Like `2026_01`. */
function suffixOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7).replace("-", "_");
}

function monthOf(ms: number): { fromMs: number; toMs: number } {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) };
}
