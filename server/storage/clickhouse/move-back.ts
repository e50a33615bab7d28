import { rebuild } from "../postgres/diagnose.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import { migrate } from "../postgres/migrate.ts";
import { Partitions } from "../postgres/partitions.ts";
import { type DatabaseAddress, openPool } from "../postgres/pool.ts";
import { createQuery, type Query } from "../postgres/query.ts";
import { type ClickHouse, connect } from "./connection.ts";
import { putBack } from "./put-back.ts";
import { createRemovals } from "./removals.ts";
import { type WholeRow, wholeColumns, wholeRowOf } from "./rows.ts";
import { ownerIn } from "./schema.ts";

/** Rows that are read and written at a time. */
const stepRows = 5_000;
const stepMs = 600_000;

type Block = { block: number; after: string; to: string };

export type MoveBackProgress = { begun: (events: number) => void; done: (events: number) => void };

/**
 * Moves the events that are in ClickHouse back into PostgreSQL, which then has all of them and no longer needs ClickHouse.
 * The newest block comes first. If it is cut off, nodes can start again with ClickHouse, and another call continues.
 *
 * Throws `UnfitDatabase` if the databases don't belong together, or ClickHouse lacks events. No node may run.
 */
export async function moveBack(
  address: DatabaseAddress,
  clickHouseUrl: string,
  { begun, done }: MoveBackProgress,
): Promise<{ blocks: number; events: number }> {
  const pool = openPool(address, () => {});
  const clickHouse = connect(clickHouseUrl, { onWarning: () => {}, onInfo: () => {} });
  const runQuery = createQuery(pool, stepMs);
  try {
    await migrate(pool, { ...silent, mayCreate: false, mayUpgrade: false });
    await requireOwner(clickHouse, runQuery);
    const [last] = await runQuery<{ block: number }>(
      "SELECT coalesce(max(block), 0) AS block FROM shipped_ranges WHERE shipped_at IS NOT NULL",
    );
    await createRemovals(clickHouse, runQuery).apply(last!.block);
    const blocks = await runQuery<Block>(
      `SELECT block, after_arrival::text AS after, to_arrival::text AS "to" FROM shipped_ranges
       WHERE shipped_at IS NOT NULL AND (gone_at IS NOT NULL OR cleared_at IS NOT NULL) ORDER BY block DESC`,
    );
    const [counted] = await clickHouse.read<{ events: string }>(
      `SELECT count() AS events FROM events WHERE block <= ${blocks[0]?.block ?? 0}`,
      {},
      stepMs,
    );
    begun(Number(counted!.events));
    const partitions = new Partitions(runQuery);
    for (const block of blocks) await moveBlock(block, partitions);
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
    await clickHouse.close();
    await pool.end();
  }

  async function moveBlock({ block, after, to }: Block, partitions: Partitions): Promise<void> {
    for (let last = after; ; ) {
      const rows = await clickHouse.read<WholeRow>(
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
         DELETE FROM shipped_ranges; DELETE FROM shipped_removals; DELETE FROM settings WHERE name = 'clickhouse_owner';
         COMMIT`,
      );
      await rebuild(client, new Set(["blocks"]));
    } finally {
      client.release();
    }
  }
}

const silent = { onInfo: () => {}, onMigrating: () => {} };

async function requireOwner(clickHouse: ClickHouse, runQuery: Query): Promise<void> {
  const [known] = await runQuery<{ value: string }>(
    "SELECT value FROM settings WHERE name = 'clickhouse_owner'",
  );
  if (!known) throw new UnfitDatabase("No events of this PostgreSQL database are in ClickHouse.");
  if ((await ownerIn(clickHouse)) !== known.value)
    throw new UnfitDatabase(
      "The database in CLICKHOUSE_URL doesn't belong to the PostgreSQL database in DATABASE_URL.",
    );
}
