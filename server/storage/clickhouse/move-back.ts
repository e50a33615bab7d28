import { rebuild } from "../postgres/diagnose.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import { migrate } from "../postgres/migrate.ts";
import { Partitions } from "../postgres/partitions.ts";
import { type DatabaseAddress, openPool } from "../postgres/pool.ts";
import { createQuery, type Query } from "../postgres/query.ts";
import { putBack } from "./put-back.ts";
import { Ranges } from "./ranges.ts";
import { createRemovals } from "./removals.ts";
import { type WholeRow, wholeColumns, wholeRowOf } from "./rows.ts";
import { openServers, type Servers } from "./servers.ts";

/** Rows that are read and written at a time. */
const stepRows = 5_000;
const stepMs = 600_000;

type Block = { block: number; after: string; to: string };

export type MoveBackProgress = { begun: (events: number) => void; done: (events: number) => void };

/**
 * Moves the events that are in ClickHouse back into PostgreSQL, which then has all of them and no longer needs ClickHouse.
 * They are read from a server that has all of them. The newest block comes first. If it is cut off, nodes can start again with ClickHouse, and another call continues.
 *
 * Throws `UnfitDatabase` if the databases don't belong together, or ClickHouse lacks events. No node may run.
 */
export async function moveBack(
  address: DatabaseAddress,
  clickHouseSetting: string,
  { begun, done }: MoveBackProgress,
): Promise<{ blocks: number; events: number }> {
  const pool = openPool(address, () => {});
  const runQuery = createQuery(pool, stepMs);
  let servers: Servers | null = null;
  try {
    await migrate(pool, silent);
    await requireShipped(runQuery);
    const ranges = new Ranges(runQuery, 0);
    servers = await openServers(clickHouseSetting, runQuery, ranges, silent);
    await createRemovals(servers, ranges, runQuery).apply();
    const blocks = await runQuery<Block>(
      `SELECT block, after_arrival::text AS after, to_arrival::text AS "to" FROM shipped_ranges
       WHERE shipped_at IS NOT NULL AND (gone_at IS NOT NULL OR cleared_at IS NOT NULL) ORDER BY block DESC`,
    );
    const [counted] = await servers.read<{ events: string }>(
      `SELECT count() AS events FROM events WHERE block <= ${blocks[0]?.block ?? 0}`,
      {},
      stepMs,
    );
    begun(Number(counted!.events));
    const partitions = new Partitions(runQuery);
    for (const block of blocks) await moveBlock(servers, block, partitions);
    const [kept] = await runQuery<{ events: number }>("SELECT sum(events)::bigint AS events FROM channels");
    const [stored] = await runQuery<{ events: number }>("SELECT count(*) AS events FROM events", [], stepMs);
    if (Number(stored!.events) < Number(kept!.events)) {
      throw new UnfitDatabase(
        `PostgreSQL now has ${stored!.events} events, but its counters know ${kept!.events}. ClickHouse lacks the others. Restore it from a backup, or leave CLICKHOUSE_URL set.`,
      );
    }
    await forget();
    return { blocks: blocks.length, events: Number(counted!.events) };
  } finally {
    await servers?.close();
    await pool.end();
  }

  async function moveBlock(
    servers: Servers,
    { block, after, to }: Block,
    partitions: Partitions,
  ): Promise<void> {
    for (let last = after; ; ) {
      const rows = await servers.read<WholeRow>(
        `SELECT ${wholeColumns} FROM events
         WHERE block = ${block} AND arrival > ${last} ORDER BY arrival LIMIT ${stepRows}`,
        {},
        stepMs,
      );
      for (const [projectId, own] of Map.groupBy(rows, ({ project }) => Number(project)))
        await putBack(runQuery, partitions, projectId, own.map(wholeRowOf));
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

  /** PostgreSQL forgets that there ever was another database. Blocks of the index are from before, and built again. */
  async function forget(): Promise<void> {
    const client = await pool.connect();
    try {
      await client.query(
        `BEGIN;
         DELETE FROM shipped_ranges; DELETE FROM shipped_removals; DELETE FROM clickhouse_servers; DELETE FROM settings WHERE name = 'clickhouse_owner';
         COMMIT`,
      );
      await rebuild(client, new Set(["blocks"]));
    } finally {
      client.release();
    }
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
  const known = await runQuery("SELECT FROM settings WHERE name = 'clickhouse_owner'");
  if (known.length === 0) throw new UnfitDatabase("No events of this PostgreSQL database are in ClickHouse.");
}
