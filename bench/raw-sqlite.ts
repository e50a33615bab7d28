/**
 * The baseline for batches: the same rows and index inserted directly into SQLite, in transactions of the same size, in
 * a separate process. Rows and tokens are prepared by the program's own code; there is no HTTP, validation, counters or
 * second thread. It reads a `RawJob` as JSON from stdin and prints a `RawResult` as JSON on stdout.
 */

import { tokensOf } from "../server/event/tokens.ts";
import { bodyOf, idOf } from "../server/storage/event-row.ts";
import { databaseFile, migrate, openForWriting } from "../server/storage/sqlite/open.ts";
import { rowKeySql } from "../server/storage/sqlite/row-key.ts";
import { eventOf } from "./events.ts";

export type RawJob = {
  folder: string;
  /** Different events, inserted in turn. */
  events: number;
  /** Events in a transaction. */
  batch: number;
  warmupMs: number;
  durationMs: number;
};

export type RawResult = { perSecond: number; inserted: number };

type Row = { id: string; body: string; tokens: string };

const projectId = 1;
/** Rows per millisecond, as at 100,000 a second. */
const rowsPerMs = 100;

function rowOf(number: number): Row {
  const { channel, ...sent } = eventOf(number);
  const createdAt = new Date().toISOString();
  const event = { ...sent, id: Bun.randomUUIDv7(), channelId: channel, createdAt };
  const { id, name, channelId, userId, icon, notify, tags } = event;
  const json = JSON.stringify({ id, name, channelId, userId, icon, notify, tags, createdAt });
  return { id: idOf(json), body: bodyOf(json), tokens: tokensOf(projectId, event) };
}

/** Runs the job in this process. */
function insertRaw({ folder, events, batch, warmupMs, durationMs }: RawJob): RawResult {
  const rows = Array.from({ length: events }, (_, number) => rowOf(number));
  migrate(folder);
  // The writer's own settings: WAL, synchronous = FULL, the same cache.
  const database = openForWriting(databaseFile(folder));
  // SQLite merges its index automatically, as by default.
  database.run("INSERT INTO events_index (events_index, rank) VALUES ('automerge', 4)");
  const insertEvent = database.prepare(
    `INSERT INTO events (row_key, project_id, id, arrival, body)
     VALUES (${rowKeySql("?1", "?2")}, ?3, unhex(?4, '-'), NULL, ?5)`,
  );
  const insertTokens = database.prepare(
    `INSERT INTO events_index (rowid, tokens) VALUES (${rowKeySql("?1", "?2")}, ?3)`,
  );
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const firstMs = Date.now();
  let inserted = 0;
  const insertBatch = () => {
    begin.run();
    for (const end = inserted + batch; inserted < end; inserted++) {
      const { id, body, tokens } = rows[inserted % rows.length]!;
      const ms = firstMs + Math.floor(inserted / rowsPerMs);
      const sequence = inserted % rowsPerMs;
      insertEvent.run(ms, sequence, projectId, id, body);
      insertTokens.run(ms, sequence, tokens);
    }
    commit.run();
  };

  const startedAt = performance.now();
  while (performance.now() < startedAt + warmupMs) insertBatch();
  const measuredFrom = performance.now();
  const insertedBefore = inserted;
  while (performance.now() < measuredFrom + durationMs) insertBatch();
  const seconds = (performance.now() - measuredFrom) / 1_000;
  database.close();
  return { perSecond: (inserted - insertedBefore) / seconds, inserted };
}

if (import.meta.main) {
  const job = (await Bun.stdin.json()) as RawJob;
  process.stdout.write(JSON.stringify(insertRaw(job)));
}
