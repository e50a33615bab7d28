import type { Pause } from "../event-store.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import type { Reader } from "./connection.ts";
import { olderProblem, whyOf } from "./failure.ts";
import { createFill } from "./fill.ts";
import { createFinish } from "./finish.ts";
import type { ShippingLease } from "./lease.ts";
import type { Range, RangeLimits, Ranges, StoredRow } from "./ranges.ts";
import type { createRemovals } from "./removals.ts";
import { eventColumnsOf, halvesOf, type NewRow } from "./rows.ts";
import { isOfServer, onEach, type Servers } from "./servers.ts";
import { createStoreBlock } from "./store-block.ts";

/** Rows that are read and written as JSON at a time. */
const stepRows = 1_000;
/** Blocks that servers which are behind get for each range that is shipped. */
const filledPerRange = 4;

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
  servers: Servers;
  ranges: Ranges;
  removals: ReturnType<typeof createRemovals>;
  lease: ShippingLease;
  options: ShippingOptions;
  onError: (error: unknown) => void;
};

/**
 * Ships ranges of arrivals to all servers, fills those that are behind, and deletes rows whose block was shipped a while
 * ago. It can stop after any step, and continues there.
 *
 * Invariant: an event is read from exactly one side, however often shipping is interrupted. Checked by
 * `server/storage/clickhouse/kill.test.ts`.
 */
export function createShip({ servers, ranges, removals, lease, options, onError }: Deps) {
  const storeBlock = createStoreBlock(options, (id, block) => servers.lacks(id, block));
  /** The servers that were checked for unknown blocks. */
  const checked = new Set<string>();
  const finish = createFinish(ranges, removals);
  const fillNext = createFill({
    servers,
    ranges,
    removals,
    storeBlock,
    finish,
    rowsOf,
    sendMs: options.sendMs,
  });
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

  async function shipNow(pause: Pause, begunMs: number): Promise<void> {
    const begunAt = performance.now();
    // It can go on for hours: rows stay long enough after their own block, and don't wait for the last one.
    const now = () => begunMs + Math.round(performance.now() - begunAt);
    if (!(await lease.take())) {
      checked.clear();
      return;
    }
    await servers.requireOwned();
    for (;;) {
      await servers.join(now());
      // A server that is behind can still be filled, and then take the place of one that is away.
      const moved = await moveNext(begunMs, now).catch((error) => {
        if (isOfServer(error)) return error as Error;
        throw error;
      });
      if (!(await lease.take())) return;
      const isFilled = await fillSome(now());
      if (!isFilled && moved instanceof Error) throw moved;
      if (!isFilled && !moved) break;
      await pause();
      if (!(await lease.take())) return;
    }
    await lease.release();
  }

  /**
   * Ships a range that was due when moving began, and deletes the rows of another that was announced. Returns false if
   * there is none.
   */
  async function moveNext(begunMs: number, now: () => number): Promise<boolean> {
    await deleteUnknown();
    await removals.apply();
    await removals.forget(now());
    const range = await ranges.plan(options, begunMs);
    if (range) await shipRange(range, now);
    await ranges.announceClearing(now() - options.keepMs, now());
    const announced = await ranges.nextToClear(now() - options.announceMs);
    const isCleared = announced !== null && (await clear(announced, now()));
    return range !== null || isCleared;
  }

  /** Fills faster than new ranges come, so that it ends. Returns false if there was nothing to fill. */
  async function fillSome(nowMs: number): Promise<boolean> {
    for (let filled = 0; filled < filledPerRange; filled++) {
      if (!(await fillNext(nowMs))) return filled > 0;
      if (!(await lease.take())) return false;
    }
    return true;
  }

  /** Deletes blocks that PostgreSQL knows nothing of: it was restored from a backup that is older than they are. */
  async function deleteUnknown(): Promise<void> {
    const unchecked = (await servers.placed()).filter(
      ({ id, clickHouse }) => clickHouse !== null && !checked.has(id),
    );
    if (unchecked.length === 0) return;
    await onEach(unchecked, async (clickHouse, { id }) => {
      const [row] = await clickHouse.read<{ block: string }>("SELECT max(block) AS block FROM events");
      // A range is planned before it is sent. So what was found before is unknown, whatever other nodes do meanwhile.
      const found = Number(row!.block);
      const known = (await ranges.planned())?.block ?? (await ranges.newestCut())?.block ?? 0;
      if (found > known)
        await clickHouse.run(
          `DELETE FROM events WHERE block > ${known} AND block <= ${found} SETTINGS lightweight_deletes_sync = 2`,
          {},
          options.sendMs,
        );
      checked.add(id);
    });
  }

  /** Stores a range on all servers that have everything before it. Those that can't store it are then behind. */
  async function shipRange(range: Range, now: () => number): Promise<void> {
    const current = (await servers.placed()).filter(({ behindSince }) => behindSince === null);
    const { results, failures } = await onEach(current, async (clickHouse, server) => {
      // Each can take as long as a send may.
      await lease.renew();
      return storeBlock(clickHouse, server, range, () => rowsOf(range));
    });
    const [sent] = results.values();
    if (!sent) throw [...failures.values()][0] ?? noServer();
    await finish(range, [...results.keys()], sent, now());
    for (const [{ clickHouse }, error] of failures) if (clickHouse) servers.trouble(clickHouse, whyOf(error));
  }

  async function* rowsOf(range: Range): AsyncGenerator<NewRow[]> {
    for await (const rows of ranges.rows(range, stepRows))
      yield rows.map((row) => newRowOf(row, range.block));
  }

  /** Returns false if a server has lost events that PostgreSQL still has: they stay. */
  async function clear(range: Range, nowMs: number): Promise<boolean> {
    const kept = await ranges.countRows(range);
    const current = (await servers.placed()).filter(({ behindSince }) => behindSince === null);
    const { results, failures } = await onEach(current, (clickHouse) => countBlock(clickHouse, range));
    if (results.size === 0) throw [...failures.values()][0] ?? noServer();
    for (const [{ address }, events] of results) {
      if (events >= kept) continue;
      onError(
        new UnfitDatabase(
          `ClickHouse has ${events} of ${kept} events of block ${range.block} (${address}). PostgreSQL keeps them. Was ClickHouse restored from an older backup?`,
        ),
      );
      return false;
    }
    await ranges.clear(range, nowMs);
    return true;
  }
}

const noServer = () => olderProblem("away", "no server of CLICKHOUSE_URL has all events that were moved");

async function countBlock(clickHouse: Reader, { block }: Range): Promise<number> {
  const [row] = await clickHouse.read<{ events: string }>(
    `SELECT count() AS events FROM events WHERE block = ${block}`,
  );
  return Number(row!.events);
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
