import { directoryOf, isNumberRow, type NumberRow, valueTokens, withoutValues } from "../block-numbers.ts";
import type { Pause } from "../event-store.ts";
import { bigints, bytes, texts } from "./arrays.ts";
import type { OlderEvents } from "./older.ts";
import { readPartitions } from "./partitions.ts";
import type { Query } from "./query.ts";

/** Tokens that one step checks: some ten milliseconds. */
const stepTokens = 1_000;
/** Events of each project that are read first. They have most of the tokens that are still in use. */
const newestEvents = 1_000;
/** Vacuuming a large table or rebuilding its index can take long, and blocks nobody. */
const vacuumMs = 3_600_000;

/** Tables that can have contained removed data. */
export const purgedTables = [
  "sent_ids",
  "vocabulary",
  "vocabulary_doubts",
  "counters",
  "channel_counters",
  "channels",
  "webhook_requests",
  "heartbeat_pings",
  "outbox",
  "deliveries",
  "rejected_events",
  "idempotency_keys",
  "users",
  "user_activity",
  "user_activity_positions",
  "person_ids",
  "cohorts",
  "cohort_members",
  "user_groups",
  "user_group_members",
  "user_group_types",
  "user_notes",
  "website_visits",
  "rule_values",
  "alerts",
  "destinations",
  "jobs",
  "blocks",
  "block_timestamps",
  "block_tokens",
  "block_columns",
  "late_events",
  "shipped_removals",
];

export function createPurge(runQuery: Query, older: OlderEvents | null) {
  /** The words that are on no event. */
  async function unusedAmong(words: string[]): Promise<string[]> {
    const [row] = await runQuery<{ unused: string[] }>("SELECT unused_tokens($1, $2) AS unused", [
      texts(words),
      newestEvents,
    ]);
    return row!.unused;
  }

  /** Deletes tokens that are no longer on any event from changed blocks. */
  async function purgeTokens(pause: Pause): Promise<void> {
    // A block that is being built can contain removed events. Its node finds that it is gone, and starts again.
    await runQuery(
      "SELECT empty_block(id), delete_block(id) FROM blocks WHERE events IS NULL AND changed > 0",
    );
    // Columns of changed blocks are built again.
    await runQuery("DELETE FROM block_columns USING blocks WHERE block = id AND changed > 0");
    const blocks = await runQuery<{ id: number }>("SELECT id FROM blocks WHERE changed > 0 ORDER BY id");
    const known = new Set<string>();
    for (const { id } of blocks) {
      const rows = await runQuery<{ token: string }>("SELECT token FROM block_tokens WHERE block = $1", [id]);
      const words = rows.flatMap(({ token }) => (known.has(token) || isNumberRow(token) ? [] : [token]));
      for (let at = 0; at < words.length; at += stepTokens) {
        const step = words.slice(at, at + stepTokens);
        const unused = await unusedAmong(step);
        if (unused.length > 0) {
          await runQuery(
            "DELETE FROM block_tokens WHERE block IN (SELECT id FROM blocks WHERE changed > 0) AND token = ANY ($1)",
            [texts(unused)],
          );
        }
        for (const word of step) known.add(word);
        await pause();
      }
      for (const { token } of rows) if (isNumberRow(token)) await forgetNumbers(id, token, pause);
    }
  }

  /** Removes numbers that are no longer on any event from a block's row. */
  async function forgetNumbers(block: number, token: string, pause: Pause): Promise<void> {
    const row = await readRow(block, token);
    const tokens = row ? valueTokens(row) : new Map<string, string>();
    if (!row || tokens.size === 0) return;
    const unused = new Set(await unusedAmong([...tokens.values()]));
    const gone = new Set([...tokens].filter(([, token]) => unused.has(token)).map(([value]) => value));
    if (gone.size > 0) {
      const directory = directoryOf(token);
      const ofKey = directory === null ? null : await readRow(block, directory);
      const changed = directory !== null && ofKey === null ? [] : withoutValues(row, gone, ofKey);
      await runQuery(
        `UPDATE block_tokens SET ordinals = changed.ordinals
         FROM unnest($2::text[], $3::bytea[]) AS changed (token, ordinals)
         WHERE block = $1 AND block_tokens.token = changed.token`,
        [block, texts(changed.map(({ token }) => token)), bytes(changed.map(({ ordinals }) => ordinals))],
      );
    }
    await pause();
  }

  /** Null if the block was discarded meanwhile. */
  async function readRow(block: number, token: string): Promise<NumberRow | null> {
    const [row] = await runQuery<{ ordinals: string }>(
      "SELECT encode(ordinals, 'hex') AS ordinals FROM block_tokens WHERE block = $1 AND token = $2",
      [block, token],
    );
    return row ? { token, ordinals: new Uint8Array(Buffer.from(row.ordinals, "hex")) } : null;
  }

  /** Takes tokens out of the next step that events in ClickHouse have. */
  async function keepUsed(older: OlderEvents): Promise<void> {
    const rows = await runQuery<{ token: string; times: number }>(
      "SELECT token, times FROM vocabulary_doubts LIMIT $1",
      [stepTokens],
    );
    const used = await older.usedTokens(rows.map(({ token }) => token));
    const known = rows.filter(({ token }) => used.has(token));
    await runQuery(
      `DELETE FROM vocabulary_doubts USING unnest($1::text[], $2::bigint[]) AS used (token, times)
       WHERE vocabulary_doubts.token = used.token AND vocabulary_doubts.times = used.times`,
      [texts(known.map(({ token }) => token)), bigints(known.map(({ times }) => times))],
    );
  }

  /** Deletes tokens that are no longer on any event from the vocabulary. */
  async function settleDoubts(pause: Pause): Promise<void> {
    for (;;) {
      if (older) await keepUsed(older);
      const [row] = await runQuery<{ settled: number }>("SELECT settle_doubts($1, $2) AS settled", [
        stepTokens,
        newestEvents,
      ]);
      if (row!.settled === 0) return;
      await pause();
    }
  }

  return {
    /** Drops months that have no events left. Autovacuum makes the space of other removed events reusable. */
    async shrink(pause: Pause): Promise<void> {
      await settleDoubts(pause);
      for (const { suffix, fromMs } of await readPartitions(runQuery)) {
        if (fromMs === null) continue;
        await runQuery("SELECT drop_empty_partition($1)", [suffix]);
        await pause();
      }
    },

    /**
     * Removes dead rows from tables and indexes. PostgreSQL can't do more: bytes stay in its log, in that of standbys
     * and in backups until these are gone, and in the free space of pages until it is overwritten.
     *
     * @param rebuilds - also rebuilds the search index, which keeps the tokens of removed events
     */
    async purge(pause: Pause, rebuilds: boolean): Promise<void> {
      await settleDoubts(pause);
      await purgeTokens(pause);
      const partitions = await readPartitions(runQuery);
      for (const name of [...partitions.map(({ name }) => name), ...purgedTables]) {
        // This waits for locks on the table: a skipped table would keep what was erased.
        await runQuery(`VACUUM ${name}`, [], vacuumMs);
        await pause();
      }
      if (!rebuilds) return;
      const indexes = await runQuery<{ name: string }>(
        `SELECT quote_ident(index.relname) AS name FROM pg_inherits
         JOIN pg_index ON indrelid = inhrelid JOIN pg_class AS index ON index.oid = indexrelid
         JOIN pg_am ON pg_am.oid = index.relam
         WHERE inhparent = 'events'::regclass AND amname = 'gin' AND indisvalid AND pg_relation_size(inhrelid) > 0`,
      );
      for (const { name } of indexes) {
        await runQuery(`REINDEX INDEX CONCURRENTLY ${name}`, [], vacuumMs);
        await pause();
      }
    },
  };
}
