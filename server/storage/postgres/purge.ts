import type { Pause } from "../store.ts";
import { texts } from "./arrays.ts";
import type { Query } from "./query.ts";

/** Tokens that a step settles: some ten milliseconds. */
const stepTokens = 1_000;
/** Of each project, which have most of the tokens that are doubted wrongly. */
const newestEvents = 1_000;
/** Cleaning a large table or building its index anew takes as long as it takes; both hold nobody up. */
const cleaningMs = 3_600_000;

/** Tables that may have held what was removed. */
const tables = [
  "sent_ids",
  "vocabulary",
  "vocabulary_doubts",
  "counters",
  "channel_counters",
  "channels",
  "deliveries",
  "rejected_events",
  "idempotency_keys",
  "users",
  "jobs",
  "blocks",
  "block_moments",
  "block_tokens",
  "late_events",
];

/** Makes the functions that clear away what removed events left. */
export function createPurge(ask: Query) {
  /** Those of some tokens that are on no event. */
  async function goneAmong(words: string[]): Promise<string[]> {
    const [row] = await ask<{ gone: string[] }>("SELECT tokens_gone($1, $2) AS gone", [
      texts(words),
      newestEvents,
    ]);
    return row!.gone;
  }

  /** Takes tokens that are on no event out of digests whose events went. */
  async function forgetTokens(pause: Pause): Promise<void> {
    // What is being digested was read before: its node finds that the block is gone, and begins anew.
    await ask("SELECT empty_block(id), retire_block(id) FROM blocks WHERE events IS NULL AND changed > 0");
    const blocks = await ask<{ id: number }>("SELECT id FROM blocks WHERE changed > 0 ORDER BY id");
    const known = new Set<string>();
    for (const { id } of blocks) {
      const rows = await ask<{ token: string }>("SELECT token FROM block_tokens WHERE block = $1", [id]);
      const words = rows.flatMap(({ token }) => (known.has(token) ? [] : [token]));
      for (let at = 0; at < words.length; at += stepTokens) {
        const step = words.slice(at, at + stepTokens);
        const gone = await goneAmong(step);
        if (gone.length > 0) {
          await ask(
            "DELETE FROM block_tokens WHERE block IN (SELECT id FROM blocks WHERE changed > 0) AND token = ANY ($1)",
            [texts(gone)],
          );
        }
        for (const word of step) known.add(word);
        await pause();
      }
    }
  }

  /** Takes tokens that are on no event out of the vocabulary. */
  async function settleDoubts(pause: Pause): Promise<void> {
    for (;;) {
      const [row] = await ask<{ settled: number }>("SELECT settle_doubts($1, $2) AS settled", [
        stepTokens,
        newestEvents,
      ]);
      if (row!.settled === 0) return;
      await pause();
    }
  }

  async function partitions(): Promise<string[]> {
    const rows = await ask<{ name: string }>(
      `SELECT quote_ident(relname) AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
       WHERE inhparent = 'events'::regclass AND NOT inhdetachpending ORDER BY relname`,
    );
    return rows.map(({ name }) => name);
  }

  return {
    /** Autovacuum has the space of removed events used again; a month that has none left is dropped as a whole. */
    async shrink(pause: Pause): Promise<void> {
      await settleDoubts(pause);
      for (const name of await partitions()) {
        const month = /^events_(\d{4}_\d{2})$/.exec(name)?.[1];
        if (month === undefined) continue;
        await ask("SELECT drop_empty_partition($1)", [month]);
        await pause();
      }
    },

    /**
     * Removes dead rows from the tables, and what they left from the indexes. What PostgreSQL can't promise: bytes stay in its log, in its standbys'
     * and in backups until those are gone, and in the free space of pages until it is written over.
     *
     * @param rebuilds - builds the search index anew: it keeps the tokens of removed events
     */
    async scrub(pause: Pause, rebuilds: boolean): Promise<void> {
      await settleDoubts(pause);
      await forgetTokens(pause);
      for (const name of [...(await partitions()), ...tables]) {
        // Who vacuums it already, or changes it, is waited for: what is skipped would keep what was erased.
        await ask(`VACUUM ${name}`, [], cleaningMs);
        await pause();
      }
      if (!rebuilds) return;
      const indexes = await ask<{ name: string }>(
        `SELECT quote_ident(index.relname) AS name FROM pg_inherits
         JOIN pg_index ON indrelid = inhrelid JOIN pg_class AS index ON index.oid = indexrelid
         JOIN pg_am ON pg_am.oid = index.relam
         WHERE inhparent = 'events'::regclass AND amname = 'gin' AND indisvalid AND pg_relation_size(inhrelid) > 0`,
      );
      for (const { name } of indexes) {
        await ask(`REINDEX INDEX CONCURRENTLY ${name}`, [], cleaningMs);
        await pause();
      }
    },
  };
}
