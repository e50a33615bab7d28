import type { Pool } from "pg";
import { rebuild } from "../postgres/diagnose.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import { migrate } from "../postgres/migrate.ts";
import { Partitions } from "../postgres/partitions.ts";
import { type DatabaseAddress, openPool } from "../postgres/pool.ts";
import { createQuery, type Query } from "../postgres/query.ts";
import { ShippingLease } from "./lease.ts";
import { putBack } from "./put-back.ts";
import { Ranges } from "./ranges.ts";
import { createRemovals } from "./removals.ts";
import { type WholeRow, wholeColumns, wholeRowOf } from "./rows.ts";
import { knownOwner } from "./schema.ts";
import { openServers, type Servers } from "./servers.ts";

/** Rows that are read and written at a time. */
const stepRows = 5_000;
const stepMs = 600_000;
/** How long nodes wait with shipping after a call that was killed. It is renewed with each step. */
const leaseMs = 180_000;
const leaseRetryMs = 500;

type Block = { block: number; after: string; to: string };

export type MoveBackProgress = { begun: (events: number) => void; done: (events: number) => void };

/**
 * Moves the events that are in ClickHouse back into PostgreSQL, which then has all of them and no longer needs ClickHouse.
 * They are read from a server that has all of them. The newest block comes first. Nodes can run: they go on reading from
 * ClickHouse until PostgreSQL has everything, and move nothing there meanwhile. If it is cut off, they move events again
 * three minutes later, or another call continues.
 *
 * Throws `UnfitDatabase` if the databases don't belong together, or ClickHouse lacks events.
 */
export async function moveBack(
  address: DatabaseAddress,
  clickHouseSetting: string,
  { begun, done }: MoveBackProgress,
): Promise<{ blocks: number; events: number }> {
  const pool = openPool(address, () => {});
  const runQuery = createQuery(pool, stepMs);
  const lease = new ShippingLease(runQuery, leaseMs);
  let servers: Servers | null = null;
  try {
    await migrate(pool, silent);
    await requireShipped(runQuery);
    const ranges = new Ranges(runQuery, 0);
    servers = await openServers(clickHouseSetting, runQuery, ranges, silent);
    await takeFromNodes(lease);
    await createRemovals(servers, ranges, runQuery).apply();
    const blocks = await runQuery<Block>(
      `SELECT block, after_arrival::text AS after, to_arrival::text AS "to" FROM shipped_ranges
       WHERE shipped_at IS NOT NULL AND (gone_at IS NOT NULL OR cleared_at IS NOT NULL) ORDER BY block DESC`,
    );
    const [counted] = await servers.read<{ events: string }>(
      `SELECT count() AS events FROM events WHERE block <= ${blocks[0]?.block ?? 0}`,
      {},
      { timeoutMs: stepMs },
    );
    begun(Number(counted!.events));
    const partitions = new Partitions(runQuery);
    for (const block of blocks) await moveBlock(servers, block, partitions);
    // One statement sees the counters and the rows of the same events.
    const [all] = await runQuery<{ stored: number; counted: number }>(
      `SELECT (SELECT count(*) FROM events) AS stored, (SELECT coalesce(sum(events), 0) FROM channels)::bigint AS counted`,
      [],
      stepMs,
    );
    if (Number(all!.stored) < Number(all!.counted)) {
      throw new UnfitDatabase(
        `PostgreSQL now has ${all!.stored} events, but its counters know ${all!.counted}. ClickHouse lacks the others. Restore it from a backup, or leave CLICKHOUSE_URL set.`,
      );
    }
    await renew();
    await forget(pool);
    return { blocks: blocks.length, events: Number(counted!.events) };
  } finally {
    await lease.release().catch(() => {});
    await servers?.close();
    await pool.end();
  }

  async function renew(): Promise<void> {
    if (!(await lease.takeFromNodes()))
      throw new Error(
        "A step took so long that a node moves events again. Run the command again to continue.",
      );
  }

  async function moveBlock(
    servers: Servers,
    { block, after, to }: Block,
    partitions: Partitions,
  ): Promise<void> {
    for (let last = after; ; ) {
      const rows = await servers.read<WholeRow>(
        `SELECT ${wholeColumns} FROM events
         WHERE block = ${block} AND arrival > ${last} ORDER BY arrival LIMIT ${stepRows} WITH TIES`,
        {},
        { timeoutMs: stepMs },
      );
      for (const [projectId, own] of Map.groupBy(rows, ({ project }) => Number(project)))
        await putBack(runQuery, partitions, projectId, own.map(wholeRowOf));
      await removeAgain(block);
      await renew();
      done(rows.length);
      if (rows.length < stepRows) break;
      last = rows.at(-1)!.arrived;
    }
    // From here on, its rows are here, as before they were cleared.
    await runQuery(
      "UPDATE shipped_ranges SET gone_at = NULL, cleared_at = NULL WHERE block = $1 AND to_arrival = $2",
      [block, to],
    );
  }

  /** Deletes rows that came back just after a node had removed them. Nothing else changes: they don't count any more. */
  async function removeAgain(block: number): Promise<void> {
    await runQuery(
      `DELETE FROM events USING shipped_removals AS removed, shipped_ranges AS range
       WHERE range.block = $1 AND removed.block >= $1 AND events.project_id = removed.project_id
         AND events.created_at = removed.created_at AND events.id = removed.id
         AND events.arrival > range.after_arrival AND events.arrival <= range.to_arrival`,
      [block],
    );
  }
}

async function takeFromNodes(lease: ShippingLease): Promise<void> {
  const deadline = performance.now() + 2 * leaseMs;
  while (!(await lease.takeFromNodes())) {
    if (performance.now() > deadline)
      throw new Error(
        "A node goes on moving events to ClickHouse. Stop the nodes, and run the command again.",
      );
    await Bun.sleep(leaseRetryMs);
  }
}

/**
 * PostgreSQL forgets that there ever was another database: from here on, nodes read all events here. Blocks of the index
 * are from before, and built again.
 */
async function forget(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(
      `BEGIN;
       SELECT lock_events();
       DELETE FROM shipped_ranges; DELETE FROM shipped_removals; DELETE FROM clickhouse_servers;
       DELETE FROM settings WHERE name = 'clickhouse_owner';
       COMMIT`,
    );
    await rebuild(client, new Set(["blocks"]));
  } finally {
    client.release();
  }
}

const silent = {
  onInfo: () => {},
  onWarning: () => {},
  onMigrating: () => {},
  mayCreate: false,
  mayUpgrade: false,
};

async function requireShipped(runQuery: Query): Promise<void> {
  if ((await knownOwner(runQuery)) === null)
    throw new UnfitDatabase("No events of this PostgreSQL database are in ClickHouse.");
}
