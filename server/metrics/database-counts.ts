import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { type BlockCoverage, blockCoverageSql, uncompressedSql, unindexedOf } from "../storage/unindexed.ts";

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

/** Events that are in no block (unindexed.ts). */
export async function countUnindexed(control: Control): Promise<number> {
  const { rows } = await sql<BlockCoverage>`${sql.raw(blockCoverageSql)}`.execute(control);
  return unindexedOf(rows[0]!);
}

/** Events in blocks whose bodies are not compressed yet. */
export async function countUncompressed(control: Control): Promise<number> {
  const { rows } = await sql<{ events: number }>`${sql.raw(uncompressedSql)}`.execute(control);
  return rows[0]!.events;
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
    .selectFrom("destinations")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("failingSince", "is not", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}
