/**
 * The baseline for batches on PostgreSQL: the same rows inserted into the same table with its indexes, with `INSERT …
 * SELECT FROM unnest` and a commit per batch, on one connection of a separate process. Rows and tokens are prepared by
 * the program's own code; there is no HTTP, validation, counters or results. It reads a `RawPostgresJob` as JSON from
 * stdin and prints a `RawResult` as JSON on stdout.
 */
import pg from "pg";
import { tokensOf } from "../server/event/tokens.ts";
import { bodyOf } from "../server/storage/event-row.ts";
import { arrivals, bigints, texts, uuids } from "../server/storage/postgres/arrays.ts";
import { migrate } from "../server/storage/postgres/migrate.ts";
import { Partitions } from "../server/storage/postgres/partitions.ts";
import { eventOf } from "./events.ts";
import type { RawResult } from "./raw-sqlite.ts";

export type RawPostgresJob = {
  url: string;
  /** Different events, inserted in turn. */
  events: number;
  /** Events in a transaction. */
  batch: number;
  warmupMs: number;
  durationMs: number;
};

const projectId = 1;

function rowOf(number: number): { body: string; tokens: string } {
  const { channel, ...sent } = eventOf(number);
  const createdAt = new Date().toISOString();
  const event = { ...sent, id: Bun.randomUUIDv7(), channelId: channel, createdAt };
  const { id, name, channelId, userId, icon, notify, tags } = event;
  const json = JSON.stringify({ id, name, channelId, userId, icon, notify, tags, createdAt });
  return { body: bodyOf(json), tokens: tokensOf(projectId, event) };
}

/** Runs the job in this process. */
async function insertRaw({ url, events, batch, warmupMs, durationMs }: RawPostgresJob): Promise<RawResult> {
  const rows = Array.from({ length: events }, (_, number) => rowOf(number));
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  await migrate(pool);
  const query = async <Row extends pg.QueryResultRow>(sql: string, parameters: readonly unknown[] = []) =>
    (await pool.query<Row>(sql, parameters as unknown[])).rows;
  await new Partitions(query).make([Date.now(), Date.now() + warmupMs + durationMs]);

  let inserted = 0;
  let lastMs = 0;
  const insertBatch = async () => {
    const chunk = Array.from({ length: batch }, (_, index) => rows[(inserted + index) % rows.length]!);
    // Each batch gets its own millisecond of arrival.
    lastMs = Math.max(Date.now(), lastMs + 1);
    const ms = new Array<number>(batch).fill(lastMs);
    await pool.query({
      name: "insert-batch",
      text: `INSERT INTO events (created_at, arrival, id, project_id, notified, body, tokens)
             SELECT created_at, arrival, id, ${projectId}, false, body, array_to_tsvector(string_to_array(tokens, ' '))
             FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::text[])
               AS t (created_at, arrival, id, body, tokens)`,
      values: [
        bigints(ms),
        arrivals(ms.map((each, sequence) => ({ ms: each, sequence }))),
        uuids(ms.map(() => Bun.randomUUIDv7())),
        texts(chunk.map(({ body }) => body)),
        texts(chunk.map(({ tokens }) => tokens)),
      ],
    });
    inserted += batch;
  };

  const startedAt = performance.now();
  while (performance.now() < startedAt + warmupMs) await insertBatch();
  const measuredFrom = performance.now();
  const insertedBefore = inserted;
  while (performance.now() < measuredFrom + durationMs) await insertBatch();
  const seconds = (performance.now() - measuredFrom) / 1_000;
  await pool.end();
  return { perSecond: (inserted - insertedBefore) / seconds, inserted };
}

if (import.meta.main) {
  const job = (await Bun.stdin.json()) as RawPostgresJob;
  process.stdout.write(JSON.stringify(await insertRaw(job)));
}
