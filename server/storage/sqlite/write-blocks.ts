import type { Database } from "bun:sqlite";
import { token } from "../../event/tokens.ts";
import { changedMax, isChangedTooMuch } from "../block.ts";
import type { BlockPart } from "../block-builder.ts";
import { directoryOf, isNumberRow, type NumberRow, valueTokens, withoutValues } from "../block-numbers.ts";
import { rowKeyAt, rowKeySql } from "./row-key.ts";

/** Tokens that one step looks up in the index, and tokens that one step deletes. */
const stepTokens = 200;
const deleteTokensMax = 64;
/** Columns that one step deletes. They are large. */
const deleteColumnsMax = 4;
/** Changes that one step deletes. */
const deleteLateMax = 1_000;

export type BlockRange = { fromMs: number; toMs: number };

export type BlockStep =
  | { kind: "retire"; fromMs: number }
  | { kind: "begin"; range: BlockRange; nowMs: number }
  | ({ kind: "keep"; fromMs: number } & BlockPart)
  | { kind: "end"; fromMs: number; events: number };

/** The writer's part of building blocks. Call each function within a transaction. */
export function createBlockWriter(database: Database) {
  const deleteTokens = database.prepare(
    "DELETE FROM block_tokens WHERE id IN (SELECT id FROM block_tokens WHERE from_ms = ?1 ORDER BY token LIMIT ?2)",
  );
  const deleteColumns = database.prepare(
    "DELETE FROM block_columns WHERE id IN (SELECT id FROM block_columns WHERE from_ms = ?1 LIMIT ?2)",
  );
  const deleteChangedColumns = database.prepare(
    `DELETE FROM block_columns WHERE id IN (
       SELECT id FROM blocks JOIN block_columns USING (from_ms) WHERE blocks.changed > 0 LIMIT ?1)`,
  );
  const selectUnfinished = database.prepare<{ fromMs: number }, []>(
    "SELECT from_ms AS fromMs FROM blocks WHERE events IS NULL AND changed > 0 LIMIT 1",
  );
  const discard = database.prepare("UPDATE blocks SET changed = ?2 WHERE from_ms = ?1");
  const insertColumn = database.prepare(
    "INSERT INTO block_columns (from_ms, project_id, name, bytes) VALUES (?1, ?2, ?3, ?4)",
  );
  const deleteTimestamps = database.prepare(
    `DELETE FROM block_timestamps
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")}`,
  );
  const deleteLate = database.prepare(
    `DELETE FROM late_events WHERE row_key IN (
       SELECT row_key FROM late_events WHERE row_key >= (SELECT from_ms << 21 FROM blocks WHERE from_ms = ?1)
         AND row_key < (SELECT to_ms << 21 FROM blocks WHERE from_ms = ?1) LIMIT ?2)`,
  );
  const withdraw = database.prepare(
    "UPDATE blocks SET events = NULL WHERE from_ms = ?1 AND events IS NOT NULL",
  );
  const deleteBlock = database.prepare("DELETE FROM blocks WHERE from_ms = ?1");
  const insertBlock = database.prepare(
    "INSERT INTO blocks (from_ms, to_ms, events, begun_at, build_id) VALUES (?1, ?2, NULL, ?3, random() >> 11)",
  );
  const insertTimestamps = database.prepare(
    `INSERT INTO block_timestamps (place, ms, gaps) VALUES (${rowKeySql("?1", "?2")}, ?3, ?4)`,
  );
  const insertToken = database.prepare(
    "INSERT INTO block_tokens (from_ms, token, ordinals) VALUES (?1, ?2, ?3)",
  );
  const endBlock = database.prepare("UPDATE blocks SET events = ?2 WHERE from_ms = ?1");
  const selectNewest = database.prepare<{ toMs: number }, []>(
    "SELECT to_ms AS toMs FROM blocks ORDER BY from_ms DESC LIMIT 1",
  );
  const selectBlock = database.prepare<BlockRange & { changed: number; added: number }, [number]>(
    "SELECT from_ms AS fromMs, to_ms AS toMs, changed, added FROM blocks WHERE from_ms <= ?1 ORDER BY from_ms DESC LIMIT 1",
  );
  const insertChange = database.prepare(
    `INSERT OR IGNORE INTO late_events (row_key) VALUES (${rowKeySql("?1", "?2")})`,
  );
  const addChanged = database.prepare(
    "UPDATE blocks SET changed = changed + 1, added = added + ?2 WHERE from_ms = ?1",
  );
  const insertSentinel = database.prepare(
    `INSERT INTO events_index (rowid, tokens)
     SELECT ?1, '${token.sentinel}' WHERE NOT EXISTS (SELECT 1 FROM events_index_docsize WHERE id = ?1)`,
  );
  const selectChanged = database.prepare<{ fromMs: number }, [number]>(
    "SELECT from_ms AS fromMs FROM blocks WHERE changed > 0 AND from_ms >= ?1 ORDER BY from_ms LIMIT 1",
  );
  const selectTokens = database.prepare<{ token: string }, [number, string, number]>(
    "SELECT token FROM block_tokens WHERE from_ms = ?1 AND token > ?2 ORDER BY token LIMIT ?3",
  );
  const selectUse = database.prepare<{ rowid: number }, [string]>(
    "SELECT 1 AS found FROM events_index WHERE events_index MATCH ?1 LIMIT 1",
  );
  const deleteToken = database.prepare("DELETE FROM block_tokens WHERE from_ms = ?1 AND token = ?2");
  const selectRow = database.prepare<NumberRow, [number, string]>(
    "SELECT token, ordinals FROM block_tokens WHERE from_ms = ?1 AND token = ?2",
  );
  const updateToken = database.prepare(
    "UPDATE block_tokens SET ordinals = ?3 WHERE from_ms = ?1 AND token = ?2",
  );
  let nextToken = { fromMs: 0, token: "" };

  /** Deletes some of a block, which is no longer used from now on. Returns whether there is more. */
  function retire(fromMs: number): boolean {
    withdraw.run(fromMs);
    if (deleteTokens.run(fromMs, deleteTokensMax).changes === deleteTokensMax) return true;
    if (deleteColumns.run(fromMs, deleteColumnsMax).changes === deleteColumnsMax) return true;
    if (deleteLate.run(fromMs, deleteLateMax).changes === deleteLateMax) return true;
    deleteTimestamps.run(fromMs);
    deleteBlock.run(fromMs);
    return false;
  }

  function begin({ fromMs, toMs }: BlockRange, nowMs: number): void {
    insertBlock.run(fromMs, toMs, nowMs);
    // An index query without a match in the block ends at these rows.
    for (const ms of [fromMs, toMs]) if (ms > 0) insertSentinel.run(rowKeyAt(ms) - 1n);
  }

  function noteChange(ms: number, sequence: number, added: 0 | 1): void {
    const block = selectBlock.get(ms);
    if (!block || ms >= block.toMs || isChangedTooMuch(block)) return;
    addChanged.run(block.fromMs, added);
    insertChange.run(ms, sequence);
  }

  const isInUse = (token: string) => selectUse.get(`"${token}"`) !== null;

  /** Removes numbers that are no longer on any event from a row. Returns how many were looked up. */
  function forgetNumbers(fromMs: number, token: string): number {
    const row = selectRow.get(fromMs, token)!;
    const tokens = valueTokens(row);
    const gone = new Set([...tokens].filter(([, token]) => !isInUse(token)).map(([value]) => value));
    if (gone.size > 0) {
      const directory = directoryOf(token);
      const rows = withoutValues(row, gone, directory === null ? null : selectRow.get(fromMs, directory)!);
      for (const { token, ordinals } of rows) updateToken.run(fromMs, token, ordinals);
    }
    return Math.max(tokens.size, 1);
  }

  return {
    /** Does a step. Returns whether it has more to do. */
    step(step: BlockStep): boolean {
      switch (step.kind) {
        case "retire":
          return retire(step.fromMs);
        case "begin":
          begin(step.range, step.nowMs);
          return false;
        case "keep":
          for (const { first, ms, gaps } of step.timestamps)
            insertTimestamps.run(step.fromMs, first, ms, gaps);
          for (const { token, ordinals } of step.tokens) insertToken.run(step.fromMs, token, ordinals);
          for (const { projectId, name, bytes } of step.columns)
            insertColumn.run(step.fromMs, projectId, name, bytes);
          return false;
        case "end":
          endBlock.run(step.fromMs, step.events);
          return false;
      }
    },

    /** The end of the newest block: events from then on are in none. */
    endMs: (): number => selectNewest.get()?.toMs ?? 0,

    /** Note an event that was stored or removed, if a block of its time was begun before. */
    noteAdded: (ms: number, sequence: number): void => noteChange(ms, sequence, 1),
    noteRemoved: (ms: number, sequence: number): void => noteChange(ms, sequence, 0),

    /**
     * Deletes changed blocks that are being built, some rows at a time, because their builder may have read removed
     * events. It then begins them again. Returns whether there is more.
     */
    purgeUnfinished(): boolean {
      const block = selectUnfinished.get();
      if (!block) return false;
      // If this ends halfway, the builder must not complete the rest.
      discard.run(block.fromMs, changedMax + 1);
      retire(block.fromMs);
      return true;
    },

    /**
     * Deletes the columns of changed blocks, some at a time, which are then built again. Returns whether there are more.
     */
    purgeColumns: (): boolean => deleteChangedColumns.run(deleteColumnsMax).changes === deleteColumnsMax,

    /**
     * Deletes tokens that are no longer on any event from changed blocks, some at a time. Returns whether there are
     * more.
     */
    purgeTokens(): boolean {
      const block = selectChanged.get(nextToken.fromMs);
      if (!block) {
        nextToken = { fromMs: 0, token: "" };
        return false;
      }
      const after = block.fromMs === nextToken.fromMs ? nextToken.token : "";
      let lookups = 0;
      for (const { token } of selectTokens.all(block.fromMs, after, stepTokens)) {
        lookups += isNumberRow(token) ? forgetNumbers(block.fromMs, token) : 1;
        if (!isNumberRow(token) && !isInUse(token)) deleteToken.run(block.fromMs, token);
        nextToken = { fromMs: block.fromMs, token };
        if (lookups >= stepTokens) return true;
      }
      nextToken = { fromMs: block.fromMs + 1, token: "" };
      return true;
    },
  };
}

export type BlockWriter = ReturnType<typeof createBlockWriter>;
