import { LRUCache } from "lru-cache";
import type { MembersCondition, NumberCondition } from "../../event/match.ts";
import {
  addedMax,
  allTimestampsIn,
  type Block,
  type BlockReader,
  changedMax,
  type MsRange,
  ordinalFrom,
  type Timestamps,
  type TimestampsRow,
  timestampsIn,
  withAny,
} from "../block.ts";
import { timestampsPerRow } from "../block-builder.ts";
import { membersColumns, ordinalsOfMembers } from "../block-members.ts";
import { bucketTokens, ordinalsWithNumber } from "../block-numbers.ts";
import { bigints, integers, texts } from "./arrays.ts";
import type { Query } from "./query.ts";

export type StoredBlock = Block & { id: number };

type BlockFields = [id: number, fromMs: number, toMs: number, events: number, changed: number];

/** An event of a block, by its ordinal in the order of listings. */
export type Entry = { block: StoredBlock; ordinal: number };

/** Blocks per query. */
const listedMax = 512;
/** Memory for blocks. Those of ten million events have a megabyte for each common token. */
const cacheBytesMax = 32 * 1_024 * 1_024;
/** Overhead of a cache entry. */
const entryBytes = 100;
/** In the cache, stands for a token that the block does not know. */
const noOrdinals = new Uint8Array();

/** Reads blocks. A block that was deleted meanwhile counts as one that knows no token. */
export type Blocks = ReturnType<typeof createBlocks>;

/** For a database that has no blocks. */
export function noBlocks(runQuery: Query): Blocks {
  return { ...createBlocks(runQuery), async *between() {} };
}

export function createBlocks(runQuery: Query) {
  // A block's id is never reused and its content does not change, so entries stay valid.
  const tokenCache = new LRUCache<string, Uint8Array>({
    maxSize: cacheBytesMax,
    sizeCalculation: ({ length }) => length + entryBytes,
  });
  const timestampCache = new LRUCache<string, Timestamps>({
    maxSize: cacheBytesMax / 4,
    sizeCalculation: ({ ms }) => ms.byteLength + entryBytes,
  });

  /** The usable blocks that overlap a range, in order, some at a time. */
  async function* between(
    projectId: number,
    range: MsRange,
    order: "asc" | "desc",
  ): AsyncGenerator<StoredBlock[]> {
    let { fromMs, toMs } = range;
    for (;;) {
      // As one JSON value: parsing a row for each would take longer than finding them.
      const [row] = await runQuery<{ blocks: BlockFields[] }>(
        `SELECT coalesce(json_agg(json_build_array(id, from_ms, to_ms, events, changed)), '[]') AS blocks FROM (
           SELECT id, from_ms, to_ms, events, changed FROM blocks
           WHERE project_id = $1 AND from_ms < $3 AND to_ms > $2 AND events IS NOT NULL
             AND changed <= $4 AND added <= $5
           ORDER BY from_ms ${order === "asc" ? "ASC" : "DESC"} LIMIT $6) AS listed`,
        [projectId, fromMs, toMs, changedMax, addedMax, listedMax],
      );
      const blocks = row!.blocks.map(([id, fromMs, toMs, events, changed]) => ({
        id,
        fromMs,
        toMs,
        events,
        changed,
      }));
      if (blocks.length > 0) yield blocks;
      const last = blocks.at(-1);
      if (!last || blocks.length < listedMax) return;
      if (order === "asc") fromMs = last.toMs;
      else toMs = last.fromMs;
    }
  }

  /** Reads the ordinals of some tokens, among them the directories of numbers, and of numbers in some blocks. */
  async function read(
    blocks: StoredBlock[],
    tokens: string[],
    { numbers = [], members = [] }: { numbers?: NumberCondition[]; members?: MembersCondition[] } = {},
  ): Promise<Pick<BlockReader<StoredBlock>, "withAny" | "withNumber" | "withMembers">> {
    const keyOf = (id: number, token: string) => `${id} ${token}`;
    const known = new Map<string, Uint8Array>();
    const missing = blocks.filter(({ id }) => {
      let isKnown = true;
      for (const token of tokens) {
        const ordinals = tokenCache.get(keyOf(id, token));
        if (ordinals) known.set(keyOf(id, token), ordinals);
        else isKnown = false;
      }
      return !isKnown;
    });
    if (missing.length > 0) {
      const rows = await runQuery<{ block: number; token: string; ordinals: string }>(
        `SELECT block, token, encode(ordinals, 'hex') AS ordinals FROM block_tokens
         WHERE block = ANY ($1) AND token = ANY ($2)`,
        [bigints(missing.map(({ id }) => id)), texts(tokens)],
      );
      for (const { id } of missing) for (const token of tokens) known.set(keyOf(id, token), noOrdinals);
      for (const { block, token, ordinals } of rows) known.set(keyOf(block, token), bytesOf(ordinals));
      for (const { id } of missing) {
        for (const token of tokens) tokenCache.set(keyOf(id, token), known.get(keyOf(id, token))!);
      }
    }
    const rowsOf = (id: number) => (token: string) => {
      const ordinals = known.get(keyOf(id, token));
      return ordinals === noOrdinals ? undefined : ordinals;
    };
    // Buckets are large and seldom read again, so they are not cached.
    const buckets = blocks.flatMap(({ id }) =>
      numbers.flatMap((number) => bucketTokens(number, rowsOf(id)).map((token) => ({ id, token }))),
    );
    if (buckets.length > 0) {
      const rows = await runQuery<{ block: number; token: string; ordinals: string }>(
        `SELECT block, token, encode(ordinals, 'hex') AS ordinals FROM block_tokens
         JOIN unnest($1::bigint[], $2::text[]) AS wanted (block, token) USING (block, token)`,
        [bigints(buckets.map(({ id }) => id)), texts(buckets.map(({ token }) => token))],
      );
      for (const { block, token, ordinals } of rows) known.set(keyOf(block, token), bytesOf(ordinals));
    }
    const names = [...new Set(members.flatMap(membersColumns))];
    const columns = names.length > 0 ? await readColumns(blocks, names) : null;
    return {
      withAny: ({ id, events }, tokens) => withAny(tokens, events, rowsOf(id)),
      withNumber: ({ id, events }, condition) => ordinalsWithNumber(condition, events, rowsOf(id)),
      withMembers: ({ id, events }, condition) =>
        ordinalsOfMembers(condition, events, (name) => columns?.get(id)?.get(name)),
    };
  }

  /** The timestamps of events; null for those of a block that was deleted meanwhile. */
  async function timestampsOf(entries: Entry[]): Promise<(number | null)[]> {
    const rows = new Map<string, { id: number; first: number; timestamps: Timestamps | undefined }>();
    const keys = entries.map(({ block: { id }, ordinal }) => {
      const first = ordinal - (ordinal % timestampsPerRow);
      const key = `${id} ${first}`;
      if (!rows.has(key)) rows.set(key, { id, first, timestamps: timestampCache.get(key) });
      return key;
    });
    const missing = [...rows.values()].filter(({ timestamps }) => !timestamps);
    if (missing.length > 0) {
      const read = await runQuery<StoredTimestamps>(
        `SELECT block, first, ms, encode(gaps, 'hex') AS gaps FROM block_timestamps
         JOIN unnest($1::bigint[], $2::integer[]) AS wanted (block, first) USING (block, first)`,
        [bigints(missing.map(({ id }) => id)), integers(missing.map(({ first }) => first))],
      );
      for (const row of read) rows.get(`${row.block} ${row.first}`)!.timestamps = cacheTimestamps(row);
    }
    return entries.map(
      ({ ordinal }, at) => rows.get(keys[at]!)!.timestamps?.ms[ordinal % timestampsPerRow] ?? null,
    );
  }

  function cacheTimestamps({ block, gaps, ...row }: StoredTimestamps): Timestamps {
    const timestamps = timestampsIn({ ...row, gaps: bytesOf(gaps) });
    timestampCache.set(`${block} ${row.first}`, timestamps);
    return timestamps;
  }

  /** Reads the first ordinal at or after each timestamp, within its block. Null if a block was deleted meanwhile. */
  async function readOrdinals(
    points: { block: StoredBlock; ms: number }[],
  ): Promise<BlockReader<StoredBlock>["ordinalAt"] | null> {
    if (points.length === 0) return () => 0;
    const rows = await runQuery<StoredTimestamps & { pointMs: number }>(
      `SELECT points.ms AS "pointMs", found.block, found.first, found.ms, encode(found.gaps, 'hex') AS gaps
       FROM unnest($1::bigint[], $2::bigint[]) AS points (block, ms)
       CROSS JOIN LATERAL (
         SELECT * FROM block_timestamps WHERE block_timestamps.block = points.block AND (first = 0 OR block_timestamps.ms < points.ms)
         ORDER BY first DESC LIMIT 1) AS found`,
      [bigints(points.map(({ block }) => block.id)), bigints(points.map(({ ms }) => ms))],
    );
    if (rows.length < points.length) return null;
    const found = new Map(
      rows.map((row) => [`${row.block} ${row.pointMs}`, ordinalFrom(cacheTimestamps(row), row.pointMs)]),
    );
    return ({ id }, ms) => found.get(`${id} ${ms}`)!;
  }

  /** Some columns of some blocks, by block and name. */
  async function readColumns(
    blocks: StoredBlock[],
    names: string[],
  ): Promise<Map<number, Map<string, Uint8Array>>> {
    const rows = await runQuery<{ block: number; name: string; bytes: string }>(
      `SELECT block, name, encode(bytes, 'base64') AS bytes FROM block_columns
       WHERE block = ANY ($1) AND name = ANY ($2)`,
      [bigints(blocks.map(({ id }) => id)), texts(names)],
    );
    const found = new Map<number, Map<string, Uint8Array>>(blocks.map(({ id }) => [id, new Map()]));
    for (const { block, name, bytes } of rows) found.get(block)!.set(name, Buffer.from(bytes, "base64"));
    return found;
  }

  return {
    between,
    read,
    readColumns,
    timestampsOf,
    readOrdinals,

    /** The milliseconds of the events of some blocks. Blocks that were deleted meanwhile are missing. */
    async allTimestampsOf(blocks: StoredBlock[]): Promise<Map<number, Float64Array>> {
      const rows = await runQuery<StoredTimestamps>(
        `SELECT block, first, ms, encode(gaps, 'hex') AS gaps FROM block_timestamps
         WHERE block = ANY ($1) ORDER BY block, first`,
        [bigints(blocks.map(({ id }) => id))],
      );
      const byBlock = Map.groupBy(rows, ({ block }) => block);
      const found = new Map<number, Float64Array>();
      for (const { id, events } of blocks) {
        const own = byBlock.get(id)?.map(({ gaps, ...row }) => ({ ...row, gaps: bytesOf(gaps) }));
        const covered = Math.ceil(events / timestampsPerRow);
        if (own?.length === covered) found.set(id, allTimestampsIn(own, events));
      }
      return found;
    },

    /** The ids of the blocks that know any of the tokens. */
    async withAnyToken(blocks: StoredBlock[], tokens: string[]): Promise<Set<number>> {
      const rows = await runQuery<{ block: number }>(
        "SELECT DISTINCT block FROM block_tokens WHERE block = ANY ($1) AND token = ANY ($2)",
        [bigints(blocks.map(({ id }) => id)), texts(tokens)],
      );
      return new Set(rows.map(({ block }) => block));
    },

    /** The timestamps of events that were stored or removed after their blocks were begun. */
    async changesIn(blocks: StoredBlock[]): Promise<{ block: number; ms: number }[]> {
      const changed = blocks.filter(({ changed }) => changed > 0);
      if (changed.length === 0) return [];
      return runQuery("SELECT block, created_at AS ms FROM late_events WHERE block = ANY ($1)", [
        bigints(changed.map(({ id }) => id)),
      ]);
    },
  };
}

type StoredTimestamps = Omit<TimestampsRow, "gaps"> & { block: number; gaps: string };

function bytesOf(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, "hex"));
}
