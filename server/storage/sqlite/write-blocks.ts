import type { Database } from "bun:sqlite";
import { token } from "../../event/tokens.ts";
import { changedMax } from "../block.ts";
import type { BlockPart } from "../block-builder.ts";
import { rowKeyAt, rowKeySql } from "./row-key.ts";

/** Tokens that a step looks for in the index, and those whose ordinals it deletes. */
const soughtTokens = 200;
const deletedTokens = 64;

export type BlockRange = { fromMs: number; toMs: number };

export type BlockStep =
  | { kind: "retire"; fromMs: number }
  | { kind: "begin"; range: BlockRange; nowMs: number }
  | ({ kind: "keep"; fromMs: number } & BlockPart)
  | { kind: "end"; fromMs: number; events: number };

/** Makes what the writer does for the digests of blocks; each is to be called within a transaction. */
export function createBlockWriter(database: Database) {
  const deleteTokens = database.prepare(
    "DELETE FROM block_tokens WHERE id IN (SELECT id FROM block_tokens WHERE from_ms = ?1 ORDER BY token LIMIT ?2)",
  );
  const deleteMoments = database.prepare(
    `DELETE FROM block_moments
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")}`,
  );
  const deleteLate = database.prepare(
    `DELETE FROM late_events WHERE position >= (SELECT from_ms << 21 FROM blocks WHERE from_ms = ?1)
       AND position < (SELECT to_ms << 21 FROM blocks WHERE from_ms = ?1)`,
  );
  const deleteBlock = database.prepare("DELETE FROM blocks WHERE from_ms = ?1");
  const insertBlock = database.prepare(
    "INSERT INTO blocks (from_ms, to_ms, events, begun_at, digest) VALUES (?1, ?2, NULL, ?3, random() >> 11)",
  );
  const insertMoments = database.prepare(
    `INSERT INTO block_moments (place, ms, gaps) VALUES (${rowKeySql("?1", "?2")}, ?3, ?4)`,
  );
  const insertToken = database.prepare(
    "INSERT INTO block_tokens (from_ms, token, ordinals) VALUES (?1, ?2, ?3)",
  );
  const endBlock = database.prepare("UPDATE blocks SET events = ?2 WHERE from_ms = ?1");
  const selectNewest = database.prepare<{ toMs: number }, []>(
    "SELECT to_ms AS toMs FROM blocks ORDER BY from_ms DESC LIMIT 1",
  );
  const selectBlock = database.prepare<BlockRange & { changed: number }, [number]>(
    "SELECT from_ms AS fromMs, to_ms AS toMs, changed FROM blocks WHERE from_ms <= ?1 ORDER BY from_ms DESC LIMIT 1",
  );
  const insertLate = database.prepare(
    `INSERT OR IGNORE INTO late_events (position) VALUES (${rowKeySql("?1", "?2")})`,
  );
  const addChanged = database.prepare("UPDATE blocks SET changed = changed + 1 WHERE from_ms = ?1");
  const insertMilestone = database.prepare(
    `INSERT INTO events_index (rowid, tokens)
     SELECT ?1, '${token.sentinel}' WHERE NOT EXISTS (SELECT 1 FROM events_index_docsize WHERE id = ?1)`,
  );
  const selectChanged = database.prepare<{ fromMs: number }, [number]>(
    "SELECT from_ms AS fromMs FROM blocks WHERE changed > 0 AND from_ms >= ?1 ORDER BY from_ms LIMIT 1",
  );
  const selectTokens = database.prepare<{ token: string }, [number, string, number]>(
    "SELECT token FROM block_tokens WHERE from_ms = ?1 AND token > ?2 ORDER BY token LIMIT ?3",
  );
  const selectIndexed = database.prepare<{ rowid: number }, [string]>(
    "SELECT 1 AS found FROM events_index WHERE events_index MATCH ?1 LIMIT 1",
  );
  const deleteToken = database.prepare("DELETE FROM block_tokens WHERE from_ms = ?1 AND token = ?2");
  let sought = { fromMs: 0, token: "" };

  /** Deletes a digest, some of it at a time; whether there is more. */
  function retire(fromMs: number): boolean {
    if (deleteTokens.run(fromMs, deletedTokens).changes === deletedTokens) return true;
    deleteMoments.run(fromMs);
    deleteLate.run(fromMs);
    deleteBlock.run(fromMs);
    return false;
  }

  function begin({ fromMs, toMs }: BlockRange, nowMs: number): void {
    insertBlock.run(fromMs, toMs, nowMs);
    // A query that finds nothing in the block is to end with it.
    for (const ms of [fromMs, toMs]) if (ms > 0) insertMilestone.run(rowKeyAt(ms) - 1n);
  }

  function changedAt(ms: number, sequence?: number): void {
    const block = selectBlock.get(ms);
    if (!block || ms >= block.toMs || block.changed > changedMax) return;
    addChanged.run(block.fromMs);
    if (sequence !== undefined) insertLate.run(ms, sequence);
  }

  return {
    /** Does a step; whether it has more to do. */
    step(step: BlockStep): boolean {
      switch (step.kind) {
        case "retire":
          return retire(step.fromMs);
        case "begin":
          begin(step.range, step.nowMs);
          return false;
        case "keep":
          for (const { first, ms, gaps } of step.moments) insertMoments.run(step.fromMs, first, ms, gaps);
          for (const { token, ordinals } of step.tokens) insertToken.run(step.fromMs, token, ordinals);
          return false;
        case "end":
          endBlock.run(step.fromMs, step.events);
          return false;
      }
    },

    /** The millisecond where the newest block ends: what happened from then on is in none. */
    endMs: (): number => selectNewest.get()?.toMs ?? 0,

    /** Tells the block of an event, if it is in one, that it came when the digest was begun already. */
    came: (ms: number, sequence: number): void => changedAt(ms, sequence),

    went: (ms: number): void => changedAt(ms),

    /** Takes tokens that are on no event out of digests whose events went, some at a time; whether there are more. */
    forgetTokens(): boolean {
      const block = selectChanged.get(sought.fromMs);
      if (!block) {
        sought = { fromMs: 0, token: "" };
        return false;
      }
      const after = block.fromMs === sought.fromMs ? sought.token : "";
      const tokens = selectTokens.all(block.fromMs, after, soughtTokens);
      for (const { token } of tokens) {
        if (!selectIndexed.get(`"${token}"`)) deleteToken.run(block.fromMs, token);
      }
      sought =
        tokens.length === soughtTokens
          ? { fromMs: block.fromMs, token: tokens.at(-1)!.token }
          : { fromMs: block.fromMs + 1, token: "" };
      return true;
    },
  };
}

export type BlockWriter = ReturnType<typeof createBlockWriter>;
