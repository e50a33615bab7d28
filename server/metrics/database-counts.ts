import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Kysely<ControlTables>;

export async function deliveriesByState(control: Control): Promise<{ state: string; count: number }[]> {
  const rows = await control
    .selectFrom("deliveries")
    .select(["state", ({ fn }) => fn.countAll<number>().as("count")])
    .groupBy("state")
    .execute();
  return rows.map(({ state, count }) => ({ state, count: Number(count) }));
}

/** Events whose deliveries are still to be made, or rejected events. */
export async function countAll(control: Control, table: "outbox" | "rejectedEvents"): Promise<number> {
  const { count } = await control
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/**
 * Events that are in no block, so that searches read them one by one. An estimate: each change to a block counts as a
 * removal, and the counters can follow a little later.
 */
export async function countUnindexed(control: Control): Promise<number> {
  const { rows } = await sql<{ stored: number | null; inBlocks: number | null }>`
    SELECT (SELECT sum(events) FROM channels) AS stored, (SELECT sum(events - changed) FROM blocks) AS in_blocks`.execute(
    control,
  );
  return Math.max(0, Number(rows[0]!.stored) - Number(rows[0]!.inBlocks));
}

export async function countUnfinishedJobs(control: Control): Promise<number> {
  const { count } = await control
    .selectFrom("jobs")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("state", "!=", "done")
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Destinations of projects whose last delivery failed. */
export async function countFailingDestinations(control: Control): Promise<number> {
  const { count } = await control
    .selectFrom("projectDestinations")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("failingSince", "is not", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}
