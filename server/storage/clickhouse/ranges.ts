import { uuids } from "../postgres/arrays.ts";
import { arrivalOf } from "../postgres/arrival.ts";
import type { Cut } from "../postgres/older.ts";
import type { Query } from "../postgres/query.ts";

/** Reading or deleting the rows of a range can take long on a busy disk. */
const rangeMs = 120_000;

/** Arrivals that become a block. They are as in the column `arrival`. */
export type Range = { block: number; after: string; to: string; token: string };

/** A range that is read from ClickHouse. */
export type ShippedRange = Range & {
  /** Whether PostgreSQL has deleted its rows. */
  is_gone: boolean;
};

/** What reads are divided by, and the servers by id: whether each is current. */
type Placement = { cut: Cut | null; servers: ReadonlyMap<string, boolean> };

/** A block as it was sent. */
export type Sent = { events: number; checksum: string; newestMs: number };

/** A row that is read to be sent. */
export type StoredRow = {
  project_id: number;
  ms: number;
  arrival: string;
  id: string;
  notified: boolean;
  body: string;
};

/** When a range is large or old enough, and how large it can be. */
export type RangeLimits = { events: number; bytes: number; ageMs: number };

/** The ranges of arrivals in PostgreSQL: those that are in ClickHouse, and the next one. */
export class Ranges {
  readonly #runQuery: Query;
  readonly #cacheMs: number;
  #placement: Promise<Placement> | null = null;
  #placementAtMs = 0;
  #cleared = -1n;
  #clearedAtMs = Number.NEGATIVE_INFINITY;

  /** @param cacheMs - how long a cut can be used. The rows of the next block stay in PostgreSQL for much longer. */
  constructor(runQuery: Query, cacheMs: number) {
    this.#runQuery = runQuery;
    this.#cacheMs = cacheMs;
  }

  /** Null as long as there is no block. */
  async cut(): Promise<Cut | null> {
    return (await this.#current()).cut;
  }

  /** Reads the cut anew. */
  async newestCut(): Promise<Cut | null> {
    return (await this.#newest()).cut;
  }

  /** The servers by id: whether reads may ask each. It is no older than the last cut that was returned. */
  async servers(): Promise<ReadonlyMap<string, boolean>> {
    return (await this.#current()).servers;
  }

  /** Waits until no node uses an older placement than the one that is committed now. */
  async settle(): Promise<void> {
    await Bun.sleep(this.#cacheMs);
  }

  #current(): Promise<Placement> {
    if (this.#placement && performance.now() - this.#placementAtMs < this.#cacheMs) return this.#placement;
    return this.#newest();
  }

  #newest(): Promise<Placement> {
    const placement = this.#read();
    this.#placementAtMs = performance.now();
    this.#placement = placement;
    placement.catch(() => {
      if (this.#placement === placement) this.#placement = null;
    });
    return placement;
  }

  /** Servers are read after the cut: one that is current then has all blocks up to it. */
  async #read(): Promise<Placement> {
    const cut = await this.#lastWith("shipped_at");
    const rows = await this.#runQuery<{ id: string; is_current: boolean }>(
      "SELECT id, behind_since IS NULL AS is_current FROM clickhouse_servers",
    );
    return { cut, servers: new Map(rows.map(({ id, is_current }) => [id, is_current])) };
  }

  /**
   * The last range whose rows may be gone: PostgreSQL still has all that arrived later. Null if it has all events. For
   * reads without ClickHouse, as rows of the next range can be deleted after the time of an announcement.
   */
  async keptCut(): Promise<Cut | null> {
    return this.#lastWith("cleared_at");
  }

  async #lastWith(step: "shipped_at" | "cleared_at"): Promise<Cut | null> {
    const [row] = await this.#runQuery<{ block: number; arrival: string; newest_ms: number }>(
      `SELECT block, to_arrival::text AS arrival, newest_ms FROM shipped_ranges WHERE ${step} IS NOT NULL
       ORDER BY block DESC LIMIT 1`,
    );
    return row ? { block: row.block, arrival: BigInt(row.arrival), newestMs: row.newest_ms } : null;
  }

  /** As `clearedTo`, as old as a cut. */
  async clearedBefore(): Promise<bigint> {
    const now = performance.now();
    if (now - this.#clearedAtMs >= this.#cacheMs) {
      this.#cleared = await this.clearedTo();
      this.#clearedAtMs = now;
    }
    return this.#cleared;
  }

  /** The last arrival whose row may be gone. */
  async clearedTo(): Promise<bigint> {
    const [row] = await this.#runQuery<{ arrival: string }>(
      "SELECT coalesce(max(to_arrival), -1)::text AS arrival FROM shipped_ranges WHERE cleared_at IS NOT NULL",
    );
    return BigInt(row!.arrival);
  }

  /**
   * Returns the range that is on its way, or plans the next one. Null if too few events wait. Once it returns, the range
   * and its events are durable: nothing arrives in it later, and a crash can't take any of them.
   */
  async plan({ events, bytes, ageMs }: RangeLimits, nowMs: number): Promise<Range | null> {
    const planned = await this.planned();
    if (planned) return planned;
    const after = "(SELECT coalesce(max(to_arrival), -1) FROM shipped_ranges)";
    const [due] = await this.#runQuery<{ is_due: boolean | null }>(
      `SELECT EXISTS (SELECT FROM events WHERE arrival > ${after} ORDER BY arrival OFFSET $1 LIMIT 1)
         OR (SELECT arrival FROM events WHERE arrival > ${after} ORDER BY arrival LIMIT 1) <= $2 AS is_due`,
      [events - 1, arrivalOf({ ms: Math.max(nowMs - ageMs, 0), sequence: 0 })],
    );
    if (!due!.is_due) return null;
    await this.#runQuery(
      `INSERT INTO shipped_ranges (after_arrival, to_arrival, token, planned_at)
       SELECT ${after}, max(arrival), $3, $4 FROM (
         SELECT arrival, row_number() OVER (ORDER BY arrival) AS number, sum(octet_length(body)) OVER (ORDER BY arrival) AS bytes
         FROM (SELECT arrival, body FROM events WHERE arrival > ${after} ORDER BY arrival LIMIT $1) AS next) AS measured
       WHERE number = 1 OR bytes <= $2
       HAVING count(*) > 0
       ON CONFLICT DO NOTHING`,
      [events, bytes, crypto.randomUUID(), nowMs],
      rangeMs,
    );
    return this.planned();
  }

  /** The range that is on its way. */
  async planned(): Promise<Range | null> {
    const [row] = await this.#runQuery<Range>(
      `SELECT block, after_arrival::text AS after, to_arrival::text AS "to", token FROM shipped_ranges
       WHERE shipped_at IS NULL`,
    );
    return row ?? null;
  }

  /** The first range from a block on that was shipped; the last one if there is none. */
  async shippedFrom(block: number): Promise<ShippedRange | null> {
    const [row] = await this.#runQuery<ShippedRange>(
      `SELECT block, after_arrival::text AS after, to_arrival::text AS "to", token, gone_at IS NOT NULL AS is_gone
       FROM shipped_ranges WHERE shipped_at IS NOT NULL
         AND block >= least($1, (SELECT max(block) FROM shipped_ranges WHERE shipped_at IS NOT NULL))
       ORDER BY block LIMIT 1`,
      [block],
    );
    return row ?? null;
  }

  /** The rows of a range in the order of arrival, some at a time. */
  async *rows({ after, to }: Range, stepRows: number): AsyncGenerator<StoredRow[]> {
    for (let last = after; ; ) {
      const rows = await this.#runQuery<StoredRow>(
        `SELECT project_id, created_at AS ms, arrival::text AS arrival, id, notified, body
         FROM events WHERE arrival > $1 AND arrival <= $2 ORDER BY arrival FETCH FIRST $3 ROWS WITH TIES`,
        [last, to, stepRows],
        rangeMs,
      );
      if (rows.length > 0) yield rows;
      if (rows.length < stepRows) return;
      last = rows.at(-1)!.arrival;
    }
  }

  /**
   * Notes that servers have a range, without what was removed up to a number. The cut moves behind it. Returns false if
   * removals since then must be applied first.
   *
   * @param sent - null if the range was shipped before
   */
  async finish(
    { block }: Range,
    servers: readonly string[],
    removedTo: number,
    sent: Sent | null,
    nowMs: number,
  ): Promise<boolean> {
    const [row] = await this.#runQuery<{ is_finished: boolean }>(
      "SELECT finish_range($1, $2, $3, $4, $5, $6, $7) AS is_finished",
      [
        block,
        uuids(servers),
        removedTo,
        sent?.events ?? null,
        sent?.checksum ?? null,
        sent?.newestMs ?? null,
        nowMs,
      ],
    );
    await this.newestCut();
    return row!.is_finished;
  }

  /** Announces that the rows of ranges that moved before a time will be deleted. */
  async announceClearing(shippedToMs: number, nowMs: number): Promise<void> {
    await this.#runQuery(
      "UPDATE shipped_ranges SET cleared_at = $2 WHERE gone_at IS NULL AND cleared_at IS NULL AND shipped_at <= $1",
      [shippedToMs, nowMs],
    );
    this.#clearedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** The oldest range whose rows are still here, and that was announced before a time. */
  async nextToClear(announcedToMs: number): Promise<Range | null> {
    const [row] = await this.#runQuery<Range>(
      `SELECT block, after_arrival::text AS after, to_arrival::text AS "to", token FROM shipped_ranges
       WHERE gone_at IS NULL AND cleared_at <= $1 ORDER BY block LIMIT 1`,
      [announcedToMs],
    );
    return row ?? null;
  }

  async countRows({ after, to }: Range): Promise<number> {
    const [row] = await this.#runQuery<{ events: number }>(
      "SELECT count(*) AS events FROM events WHERE arrival > $1 AND arrival <= $2",
      [after, to],
      rangeMs,
    );
    return row!.events;
  }

  /** Deletes a range's rows, and what came back of earlier ones. Nothing else changes: the events still exist. */
  async clear({ block, to }: Range, nowMs: number): Promise<void> {
    await this.#runQuery("DELETE FROM events WHERE arrival <= $1", [to], rangeMs);
    await this.#runQuery("UPDATE shipped_ranges SET gone_at = $2 WHERE block = $1", [block, nowMs]);
  }
}
