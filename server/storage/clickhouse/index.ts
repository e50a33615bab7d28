import { stampOfId } from "../../event/id.ts";
import { stampOf } from "../postgres/arrival.ts";
import type { OlderEvents, OpenOlderEvents } from "../postgres/older.ts";
import { readColumns } from "./columns.ts";
import { connect } from "./connection.ts";
import { ShippingLease } from "./lease.ts";
import { Ranges } from "./ranges.ts";
import { createReads } from "./reads.ts";
import { createRemovals } from "./removals.ts";
import { createRestore } from "./restore.ts";
import { prepared } from "./schema.ts";
import { createShip, type ShippingOptions } from "./ship.ts";
import { createStatus, ShippingRecord } from "./status.ts";

type Options = ShippingOptions & {
  /** How long another node waits after the one that ships has died. More than twice `sendMs`. */
  leaseMs: number;
};

/** How long a node can go on with what it knows of shipping. */
const cacheMs = 1_000;

const usual: Options = {
  events: 50_000,
  bytes: 33_554_432,
  ageMs: 60 * 60_000,
  keepMs: 15 * 60_000,
  announceMs: 30_000,
  sendMs: 60_000,
  leaseMs: 180_000,
};

/**
 * Opens ClickHouse behind PostgreSQL, and migrates its tables to this program's version. If it doesn't respond, that
 * follows once it does: a restart meanwhile must not end recording.
 *
 * @param url - of the database in ClickHouse, over HTTP
 */
export function openClickHouse(url: string, given: Partial<Options> = {}): OpenOlderEvents {
  return async (runQuery, watch): Promise<OlderEvents> => {
    const options = { ...usual, ...given };
    const clickHouse = await prepared(connect(url, watch), runQuery, watch);
    const ranges = new Ranges(runQuery, Math.min(cacheMs, options.announceMs));
    const restore = createRestore(clickHouse, runQuery, ranges);
    const removals = createRemovals(clickHouse, runQuery);
    const lease = new ShippingLease(runQuery, options.leaseMs);
    const { onError } = watch;
    const ship = createShip({ clickHouse, ranges, removals, lease, options, onError });
    const record = new ShippingRecord(watch);
    return {
      ...createReads(clickHouse),
      columns: (cut, query, signal) => readColumns(clickHouse, cut, query, signal),
      cut: () => ranges.cut(),
      keptCut: () => ranges.keptCut(),
      clearedTo: () => ranges.clearedTo(),
      ship: (pause, nowMs) => record.observe(() => ship(pause, nowMs)),
      status: createStatus(clickHouse, runQuery, record),
      restore,
      async restoreBefore(events) {
        const clearedTo = await ranges.clearedBefore();
        const old = events.filter(({ event }) => stampOfId(event.id).ms <= stampOf(String(clearedTo)).ms);
        if (old.length > 0) await restore(old);
      },
      applyRemovals: async () => removals.apply((await ranges.newestCut())?.block ?? 0),
      removing: removals.pending,
      rewrite: removals.rewrite,
      close: () => clickHouse.close(),
    };
  };
}
