import type { Pause } from "../store.ts";
import { texts } from "./arrays.ts";
import type { Ask } from "./ask.ts";
import { queryOfTokens } from "./match.ts";
import type { createRead } from "./read.ts";

/** Tokens that a step settles. */
const stepTokens = 100;
/** The newest events, which have most of the tokens that are doubted wrongly. */
const sampleEvents = 1_000;
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
  "refused_events",
  "idempotency_keys",
  "users",
  "jobs",
  "blocks",
  "block_moments",
  "block_tokens",
  "late_events",
];

/** Makes the functions that clear away what removed events left. */
export function createScrub(ask: Ask, { readPage }: ReturnType<typeof createRead>) {
  async function isUsed(word: string): Promise<boolean> {
    const projectId = Number.parseInt(word, 10);
    const query = { projectId, filter: {}, order: "desc" as const };
    const { rows } = await readPage(query, 1, {
      condition: { kind: "tokens", tokens: [word] },
      query: queryOfTokens([word]),
      isExact: true,
    });
    return rows.length > 0;
  }

  /** Those of some tokens that are on no event. */
  async function goneAmong(words: string[]): Promise<string[]> {
    const used = new Set(
      (
        await ask<{ token: string }>(
          `SELECT DISTINCT token FROM (SELECT DISTINCT substring(word FROM '^[0-9]+')::integer AS project_id FROM unnest($1::text[]) AS word) AS projects,
             LATERAL (SELECT tokens FROM events WHERE events.project_id = projects.project_id
               ORDER BY created_at DESC, id DESC LIMIT $2) AS newest,
             LATERAL unnest(tsvector_to_array(tokens)) AS token
           WHERE token = ANY ($1::text[])`,
          [words, sampleEvents],
        )
      ).map(({ token }) => token),
    );
    const gone: string[] = [];
    for (const word of words) if (!used.has(word) && !(await isUsed(word))) gone.push(word);
    return gone;
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
      const doubted = await ask<{ token: string }>("SELECT token FROM vocabulary_doubts LIMIT $1", [
        stepTokens,
      ]);
      if (doubted.length === 0) return;
      const words = doubted.map(({ token }) => token);
      const gone = await goneAmong(words);
      await ask("SELECT settle_doubts($1, $2)", [words, gone]);
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
        await ask(`VACUUM (SKIP_LOCKED) ${name}`, [], cleaningMs);
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
