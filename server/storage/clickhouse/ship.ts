import { Turns } from "../../scheduling/turns.ts";
import type { Pause } from "../event-store.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import type { ClickHouse } from "./connection.ts";
import type { ShippingLease } from "./lease.ts";
import type { Range, RangeLimits, Ranges, Sent, StoredRow } from "./ranges.ts";
import type { createRemovals } from "./removals.ts";
import { checksumOf, checksumSql, eventColumnsOf, halvesOf, type NewRow } from "./rows.ts";

/** Rows that are read and written as JSON at a time. */
const stepRows = 1_000;
/** How often a block that differs is sent again, as a new one. */
const renewalsMax = 2;

export type ShippingOptions = RangeLimits & {
  /** How long rows stay in PostgreSQL after their block was shipped: longer than any read takes. */
  keepMs: number;
  /**
   * How long before it their deletion is announced: longer than a batch takes, so that one which doesn't know of it can't
   * miss a duplicate.
   */
  announceMs: number;
  /** The time limit of sending a block. */
  sendMs: number;
};

type Deps = {
  clickHouse: ClickHouse;
  ranges: Ranges;
  removals: ReturnType<typeof createRemovals>;
  lease: ShippingLease;
  options: ShippingOptions;
  onError: (error: unknown) => void;
};

/**
 * Ships ranges of arrivals to ClickHouse, and deletes rows whose block was shipped a while ago. It can stop after any
 * step, and continues there.
 *
 * Invariant: an event is read from exactly one side, however often shipping is interrupted. Checked by
 * `server/storage/clickhouse/kill.test.ts`.
 */
export function createShip({ clickHouse, ranges, removals, lease, options, onError }: Deps) {
  let isChecked = false;
  let running: Promise<void> = Promise.resolve();

  /** One call at a time: within a process, the lease doesn't tell them apart. */
  return function ship(pause: Pause, nowMs: number): Promise<void> {
    running = running.catch(() => {}).then(() => shipOrLeave(pause, nowMs));
    return running;
  };

  /** If it fails, another node, which may reach ClickHouse, can go on at once. */
  async function shipOrLeave(pause: Pause, nowMs: number): Promise<void> {
    try {
      await shipNow(pause, nowMs);
    } catch (error) {
      await lease.release().catch(() => {});
      throw error;
    }
  }

  async function shipNow(pause: Pause, nowMs: number): Promise<void> {
    if (!(await lease.take())) {
      isChecked = false;
      return;
    }
    if (!isChecked) await deleteUnknown();
    isChecked = true;
    await removals.apply((await ranges.newestCut())?.block ?? 0);
    await removals.forget(nowMs);
    // It can go on for hours: rows stay long enough after their own block, and don't wait for the last one.
    const aheadMs = nowMs - Date.now();
    const now = () => Date.now() + aheadMs;
    async function goOn(): Promise<boolean> {
      await pause();
      return lease.take();
    }
    for (let isWhole = true; ; ) {
      const next = await ranges.plan(options, nowMs);
      if (next) {
        await shipRange(next, now);
        if (!(await goOn())) return;
      }
      await ranges.announceClearing(now() - options.keepMs, now());
      const old = isWhole ? await ranges.nextToClear(now() - options.announceMs) : null;
      if (old) {
        isWhole = await clear(old, now());
        if (!(await goOn())) return;
      }
      if (!next && !(old && isWhole)) break;
    }
    await lease.release();
  }

  /**
   * Deletes blocks that PostgreSQL knows nothing of: it was restored from a backup that is older than they are. A block
   * with the number of one on its way can be such a block, so that one is sent as a new one.
   */
  async function deleteUnknown(): Promise<void> {
    // Ranges are known before their blocks are sent, so a block that was found is not one that another node sends.
    const [row] = await clickHouse.read<{ block: string }>("SELECT max(block) AS block FROM events");
    const planned = await ranges.planned();
    const shipped = (await ranges.newestCut())?.block ?? 0;
    if (Number(row!.block) <= (planned?.block ?? shipped)) return;
    await deleteAfter(shipped);
    if (planned) await ranges.renew(planned);
  }

  async function deleteAfter(block: number): Promise<void> {
    await clickHouse.run(
      `DELETE FROM events WHERE block > ${block} SETTINGS lightweight_deletes_sync = 2`,
      {},
      options.sendMs,
    );
  }

  async function shipRange(range: Range, now: () => number): Promise<void> {
    for (let next = range, renewals = 0; ; renewals++) {
      const sent = await send(next);
      if (await isStored(next, sent)) {
        while (!(await ranges.finish(next, sent, now()))) await removals.apply(next.block);
        return;
      }
      if (renewals === renewalsMax) {
        throw new UnfitDatabase(
          `Block ${next.block} in ClickHouse differs from the events that were sent. They stay in PostgreSQL, and are sent again.`,
        );
      }
      await deleteAfter(next.block - 1);
      next = (await ranges.renew(next)) ?? next;
    }
  }

  /** Sends a range as one block. A block that ClickHouse has already stored is ignored there. */
  async function send(range: Range): Promise<Sent> {
    const turns = new Turns("server");
    const sent = { events: 0, sum: 0n, newestMs: 0 };
    async function* newRows(): AsyncGenerator<NewRow> {
      for await (const stored of ranges.rows(range, stepRows)) {
        const rows = stored.map((row) => newRowOf(row, range.block));
        for (const { ms } of stored) sent.newestMs = Math.max(sent.newestMs, ms);
        sent.events += rows.length;
        sent.sum += BigInt(checksumOf(rows));
        for (const row of rows) {
          yield row;
          if (turns.isOver) await turns.next();
        }
      }
    }
    await clickHouse.insert(
      "events",
      newRows(),
      {
        insert_deduplication_token: range.token,
        insert_deduplicate: 1,
        async_insert: 0,
        max_insert_block_size: String(2 * options.events),
        input_format_parallel_parsing: 0,
        max_partitions_per_insert_block: 0,
      },
      options.sendMs,
    );
    return {
      events: sent.events,
      checksum: String(BigInt.asUintN(64, sent.sum)),
      newestMs: sent.newestMs,
    };
  }

  async function isStored({ block }: Range, { events, checksum }: Sent): Promise<boolean> {
    const [row] = await clickHouse.read<{ events: string; checksum: string }>(
      `SELECT count() AS events, toString(${checksumSql}) AS checksum FROM events WHERE block = ${block}`,
      {},
      options.sendMs,
    );
    return Number(row!.events) === events && row!.checksum === checksum;
  }

  /** Returns false if ClickHouse has lost events that PostgreSQL still has: they stay. */
  async function clear(range: Range, nowMs: number): Promise<boolean> {
    const kept = await ranges.countRows(range);
    const [row] = await clickHouse.read<{ events: string }>(
      `SELECT count() AS events FROM events WHERE block = ${range.block}`,
    );
    if (Number(row!.events) < kept) {
      onError(
        new UnfitDatabase(
          `ClickHouse has ${row!.events} of ${kept} events of block ${range.block}. PostgreSQL keeps them. Was ClickHouse restored from an older backup?`,
        ),
      );
      return false;
    }
    await ranges.clear(range, nowMs);
    return true;
  }
}

function newRowOf({ project_id, ms, arrival, id, notified, body }: StoredRow, block: number): NewRow {
  const [id_hi, id_lo] = halvesOf(id);
  return {
    project: project_id,
    created: String(ms),
    id_hi,
    id_lo,
    arrival,
    block,
    notified: notified ? 1 : 0,
    ...eventColumnsOf(project_id, body),
  };
}
