import type { Query } from "../postgres/query.ts";
import type { OlderServerStatus, OlderStatus, StoreWatch } from "../store.ts";
import { whyOf } from "./failure.ts";
import type { PreparedServer } from "./schema.ts";
import type { Servers } from "./servers.ts";

/** Events that wait are counted up to this number: counting more would take seconds. */
const waitingMax = 1_000_000;
/** The status page waits no longer for a server that hangs. */
const statusMs = 2_000;

type Lacking = { id: string; blocks: number; events: number; removals: number };

/** How shipping goes on this node. A failure that lasts is logged once. */
export class ShippingRecord {
  readonly #watch: Pick<StoreWatch, "onWarning" | "onInfo">;
  #failure: string | null = null;
  failedAttempts = 0;

  constructor(watch: Pick<StoreWatch, "onWarning" | "onInfo">) {
    this.#watch = watch;
  }

  /** Why the last attempt failed; null if it didn't. */
  get failure(): string | null {
    return this.#failure;
  }

  async observe(ship: () => Promise<void>): Promise<void> {
    try {
      await ship();
    } catch (error) {
      this.failedAttempts++;
      const why = whyOf(error);
      if (why !== this.#failure)
        this.#watch.onWarning(`Events can't be moved to ClickHouse: ${why}. They stay in PostgreSQL.`);
      this.#failure = why;
      throw error;
    }
    if (this.#failure !== null)
      this.#watch.onInfo("events move to ClickHouse again", { failedAttempts: this.failedAttempts });
    this.#failure = null;
  }
}

/** What is in ClickHouse, and what still has to move there. */
export function createStatus(servers: Servers, runQuery: Query, record: ShippingRecord) {
  return async function status(): Promise<OlderStatus> {
    const [moved] = await runQuery<{ blocks: number; events: number }>(
      `SELECT count(*) AS blocks, coalesce(sum(events), 0)::bigint AS events FROM shipped_ranges WHERE shipped_at IS NOT NULL`,
    );
    const [waiting] = await runQuery<{ events: number; since_ms: number | null }>(
      `SELECT count(*) AS events, min(arrival) >> 20 AS since_ms FROM (
         SELECT arrival FROM events
         WHERE arrival > (SELECT coalesce(max(to_arrival), -1) FROM shipped_ranges WHERE shipped_at IS NOT NULL)
         ORDER BY arrival LIMIT $1) AS waiting`,
      [waitingMax],
    );
    const { events, since_ms } = waiting!;
    const each = await serverStatuses();
    const able = each.find(({ isCurrent, failure }) => isCurrent && failure === null);
    // Before the first event moves, no server is added yet.
    const failed = able ? undefined : each.find(({ failure }) => failure !== null);
    return {
      failure:
        able || (Number(moved!.blocks) === 0 && !failed)
          ? null
          : (failed?.failure ?? "No server has all events"),
      blocks: Number(moved!.blocks),
      events: Number(moved!.events),
      bytes: able?.bytes ?? each.find(({ bytes }) => bytes !== null)?.bytes ?? null,
      servers: each,
      waiting: {
        events: Number(events),
        seconds: since_ms === null ? 0 : Math.max(0, (Date.now() - since_ms) / 1_000),
      },
      shipping: { failure: record.failure, failedAttempts: record.failedAttempts },
    };
  };

  /** The servers of the setting. */
  async function serverStatuses(): Promise<OlderServerStatus[]> {
    const sizes = await Promise.all(servers.all.map((server) => readBytes(server).catch(() => null)));
    const placed = await servers.placed();
    const lacking = await runQuery<Lacking>(
      `SELECT id, count(block) AS blocks, coalesce(sum(events), 0)::bigint AS events,
         (SELECT count(*) FROM shipped_removals WHERE number > removed_to) AS removals
       FROM clickhouse_servers LEFT JOIN shipped_ranges ON shipped_at IS NOT NULL AND block > complete_to
       GROUP BY id`,
    );
    return servers.all.map((server, at) => {
      const known = placed.find(
        ({ clickHouse, address }) => clickHouse === server || address === server.name,
      );
      const lacks = lacking.find(({ id }) => id === known?.id);
      return {
        address: server.name,
        failure: servers.troubleOf(server) ?? (sizes[at] === null ? "It took too long to answer" : null),
        isCurrent: known?.behindSince === null,
        lacks: {
          blocks: lacks?.blocks ?? 0,
          events: Number(lacks?.events ?? 0),
          removals: lacks?.removals ?? 0,
        },
        bytes: sizes[at]!,
      };
    });
  }
}

async function readBytes(server: PreparedServer): Promise<number> {
  const [row] = await server.read<{ bytes: string | null }>(
    "SELECT total_bytes AS bytes FROM system.tables WHERE database = currentDatabase() AND name = 'events'",
    {},
    { timeoutMs: statusMs },
  );
  return Number(row?.bytes ?? 0);
}
