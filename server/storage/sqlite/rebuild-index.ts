import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import { token, tokensOf } from "../../event/tokens.ts";
import { createBodies } from "./bodies.ts";
import { deleteBlocks } from "./diagnose.ts";

/** Rows read at a time. */
const chunkRows = 10_000;
const dayMs = 86_400_000;
/** The days of sentinel rows: 2020 to 2049, as in the first migration. */
const sentinelDays = { first: 18_262, last: 29_219 };

/**
 * Rebuilds the full-text index from the events. Also deletes the blocks, because they have sentinel rows in it. Call it
 * within a transaction.
 */
export function rebuildIndex(database: Database): void {
  deleteBlocks(database);
  database.run("INSERT INTO events_index (events_index) VALUES ('delete-all')");
  const insert = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?1, ?2)");
  const select = database.prepare<{ rowKey: bigint; project: number; body: string }, [bigint, number]>(
    "SELECT row_key AS rowKey, project_id AS project, body FROM events WHERE row_key > ?1 ORDER BY row_key LIMIT ?2",
  );
  select.safeIntegers(true);
  const bodies = createBodies(database);
  let sentinel = sentinelDays.first;
  // In the order of row ids, which is ten times as fast as any other.
  const insertSentinelsBefore = (rowKey: bigint | null) => {
    for (; sentinel <= sentinelDays.last; sentinel++) {
      const key = (BigInt(sentinel * dayMs) << 21n) | 2_097_151n;
      if (rowKey !== null && key > rowKey) return;
      insert.run(key, token.sentinel);
    }
  };
  for (let after = -1n; ; ) {
    const rows = select.all(after, chunkRows);
    for (const { rowKey, project, body } of rows) {
      insertSentinelsBefore(rowKey);
      insert.run(rowKey, tokensOf(Number(project), JSON.parse(`{${bodies.of(body)}}`) as Event));
    }
    const last = rows.at(-1);
    if (!last) break;
    after = last.rowKey;
  }
  insertSentinelsBefore(null);
}
