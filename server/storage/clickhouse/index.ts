import { stampOfId } from "../../event/id.ts";
import { stampOf } from "../postgres/arrival.ts";
import type { OlderEvents, OpenOlderEvents } from "../postgres/older.ts";
import { createAggregates } from "./aggregates.ts";
import { readColumns } from "./columns.ts";
import { ShippingLease } from "./lease.ts";
import { Ranges } from "./ranges.ts";
import { createReads } from "./reads.ts";
import { createRemovals } from "./removals.ts";
import { createRestore } from "./restore.ts";
import { openServers } from "./servers.ts";
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
 * Opens ClickHouse behind PostgreSQL, and migrates its tables to this program's version. On a server that doesn't respond,
 * that follows once it does: a restart meanwhile must not end recording.
 *
 * @param setting - the addresses of databases on one or more servers, over HTTP, separated by commas
 */
export function openClickHouse(setting: string, given: Partial<Options> = {}): OpenOlderEvents {
  return async (runQuery, watch): Promise<OlderEvents> => {
    const options = { ...usual, ...given };
    const ranges = new Ranges(runQuery, Math.min(cacheMs, options.announceMs));
    const servers = await openServers(setting, runQuery, ranges, watch);
    const restore = createRestore(servers, runQuery, ranges);
    const removals = createRemovals(servers, ranges, runQuery);
    const lease = new ShippingLease(runQuery, options.leaseMs);
    const { onError } = watch;
    const ship = createShip({ servers, ranges, removals, lease, options, onError });
    const record = new ShippingRecord(watch);
    const reads = createReads(servers);
    return {
      ...reads,
      // Without blocks, there may be no server yet.
      usedTokens: async (tokens) => ((await ranges.cut()) ? reads.usedTokens(tokens) : new Set()),
      columns: (cut, query, signal) => readColumns(servers, cut, query, signal),
      aggregates: (newest) => createAggregates(servers, ranges, newest),
      cut: () => ranges.cut(),
      keptCut: () => ranges.keptCut(),
      clearedTo: () => ranges.clearedTo(),
      ship: (pause, nowMs) => record.observe(() => ship(pause, nowMs)),
      status: createStatus(servers, runQuery, record),
      restore,
      async restoreBefore(events) {
        const clearedTo = await ranges.clearedBefore();
        const old = events.filter(({ event }) => stampOfId(event.id).ms <= stampOf(String(clearedTo)).ms);
        if (old.length > 0) await restore(old);
      },
      applyRemovals: () => removals.apply(),
      removing: removals.pending,
      rewrite: removals.rewrite,
      close: () => servers.close(),
    };
  };
}
