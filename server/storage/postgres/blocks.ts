import { LRUCache } from "lru-cache";
import {
  type Block,
  changedMax,
  type Digests,
  ordinalFrom,
  type Timestamps,
  type TimestampsRow,
  timestampsIn,
  withAny,
} from "../block.ts";
import { momentsInRow } from "../block-builder.ts";
import { bigints, integers, texts } from "./arrays.ts";
import type { Query } from "./query.ts";
import type { MsRange } from "./scan-cursor.ts";

export type StoredBlock = Block & { id: number };

type BlockFields = [id: number, fromMs: number, toMs: number, events: number, changed: number];

/** An event of a block, by its place in the order of listings. */
export type Entry = { block: StoredBlock; ordinal: number };

/** Blocks that are listed at a time. */
const listedMax = 512;
/** What is kept of digests in memory: ten million events have a megabyte for each common token. */
const keptBytes = 32 * 1_024 * 1_024;
/** What an entry takes beside its bytes. */
const entryBytes = 100;
/** What a block has of a token that it does not know. */
const noOrdinals = new Uint8Array();

/** What a reader asks of digests. Where one was deleted meanwhile, it is as if it knew no token. */
export type Blocks = ReturnType<typeof createBlocks>;

export function createBlocks(ask: Query) {
  // A block's id stands for no other, and its digest does not change: what was read once holds for as long as the block is there.
  const keptTokens = new LRUCache<string, Uint8Array>({
    maxSize: keptBytes,
    sizeCalculation: ({ length }) => length + entryBytes,
  });
  const keptMoments = new LRUCache<string, Timestamps>({
    maxSize: keptBytes / 4,
    sizeCalculation: ({ ms }) => ms.byteLength + entryBytes,
  });

  /** The blocks that overlap a range of time, whose digests are of use, in order, some at a time. */
  async function* between(
    projectId: number,
    range: MsRange,
    order: "asc" | "desc",
  ): AsyncGenerator<StoredBlock[]> {
    let { fromMs, toMs } = range;
    for (;;) {
      // As one value: a row for each would take longer to be read here than to be found there.
      const [row] = await ask<{ blocks: BlockFields[] }>(
        `SELECT coalesce(json_agg(json_build_array(id, from_ms, to_ms, events, changed)), '[]') AS blocks FROM (
           SELECT id, from_ms, to_ms, events, changed FROM blocks
           WHERE project_id = $1 AND from_ms < $3 AND to_ms > $2 AND events IS NOT NULL AND changed <= $4
           ORDER BY from_ms ${order === "asc" ? "ASC" : "DESC"} LIMIT $5) AS listed`,
        [projectId, fromMs, toMs, changedMax, listedMax],
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

  /** Reads what the digests of some blocks tell of some tokens. */
  async function read(
    blocks: StoredBlock[],
    tokens: string[],
  ): Promise<Pick<Digests<StoredBlock>, "withAny">> {
    const keyOf = (id: number, token: string) => `${id} ${token}`;
    const known = new Map<string, Uint8Array>();
    const missing = blocks.filter(({ id }) => {
      let isKnown = true;
      for (const token of tokens) {
        const ordinals = keptTokens.get(keyOf(id, token));
        if (ordinals) known.set(keyOf(id, token), ordinals);
        else isKnown = false;
      }
      return !isKnown;
    });
    if (missing.length > 0) {
      const rows = await ask<{ block: number; token: string; ordinals: string }>(
        `SELECT block, token, encode(ordinals, 'hex') AS ordinals FROM block_tokens
         WHERE block = ANY ($1) AND token = ANY ($2)`,
        [bigints(missing.map(({ id }) => id)), texts(tokens)],
      );
      for (const { id } of missing) for (const token of tokens) known.set(keyOf(id, token), noOrdinals);
      for (const { block, token, ordinals } of rows) known.set(keyOf(block, token), bytesOf(ordinals));
      for (const { id } of missing) {
        for (const token of tokens) keptTokens.set(keyOf(id, token), known.get(keyOf(id, token))!);
      }
    }
    return {
      withAny: ({ id, events }, tokens) =>
        withAny(tokens, events, (token) => {
          const ordinals = known.get(keyOf(id, token));
          return ordinals === noOrdinals ? undefined : ordinals;
        }),
    };
  }

  /** When some events happened; null for those of a block that was deleted meanwhile. */
  async function momentsOf(entries: Entry[]): Promise<(number | null)[]> {
    const rows = new Map<string, { id: number; first: number; moments: Timestamps | undefined }>();
    const keys = entries.map(({ block: { id }, ordinal }) => {
      const first = ordinal - (ordinal % momentsInRow);
      const key = `${id} ${first}`;
      if (!rows.has(key)) rows.set(key, { id, first, moments: keptMoments.get(key) });
      return key;
    });
    const missing = [...rows.values()].filter(({ moments }) => !moments);
    if (missing.length > 0) {
      const read = await ask<StoredMoments>(
        `SELECT block, first, ms, encode(gaps, 'hex') AS gaps FROM block_moments
         JOIN unnest($1::bigint[], $2::integer[]) AS sought (block, first) USING (block, first)`,
        [bigints(missing.map(({ id }) => id)), integers(missing.map(({ first }) => first))],
      );
      for (const row of read) rows.get(`${row.block} ${row.first}`)!.moments = keep(row);
    }
    return entries.map(({ ordinal }, at) => rows.get(keys[at]!)!.moments?.ms[ordinal % momentsInRow] ?? null);
  }

  function keep({ block, gaps, ...row }: StoredMoments): Timestamps {
    const moments = timestampsIn({ ...row, gaps: bytesOf(gaps) });
    keptMoments.set(`${block} ${row.first}`, moments);
    return moments;
  }

  /** Makes the function that tells the first ordinals from moments on, each within its block; null where one was deleted meanwhile. */
  async function readOrdinals(
    sought: { block: StoredBlock; ms: number }[],
  ): Promise<Digests<StoredBlock>["ordinalAt"] | null> {
    if (sought.length === 0) return () => 0;
    const rows = await ask<StoredMoments & { sought: number }>(
      `SELECT sought.ms AS sought, found.block, found.first, found.ms, encode(found.gaps, 'hex') AS gaps
       FROM unnest($1::bigint[], $2::bigint[]) AS sought (block, ms)
       CROSS JOIN LATERAL (
         SELECT * FROM block_moments WHERE block_moments.block = sought.block AND (first = 0 OR block_moments.ms < sought.ms)
         ORDER BY first DESC LIMIT 1) AS found`,
      [bigints(sought.map(({ block }) => block.id)), bigints(sought.map(({ ms }) => ms))],
    );
    if (rows.length < sought.length) return null;
    const found = new Map(
      rows.map((row) => [`${row.block} ${row.sought}`, ordinalFrom(keep(row), row.sought)]),
    );
    return ({ id }, ms) => found.get(`${id} ${ms}`)!;
  }

  return {
    between,
    read,
    momentsOf,
    readOrdinals,

    /** Those of some blocks whose digests know one of some tokens. */
    async knowing(blocks: StoredBlock[], tokens: string[]): Promise<Set<number>> {
      const rows = await ask<{ block: number }>(
        "SELECT DISTINCT block FROM block_tokens WHERE block = ANY ($1) AND token = ANY ($2)",
        [bigints(blocks.map(({ id }) => id)), texts(tokens)],
      );
      return new Set(rows.map(({ block }) => block));
    },

    /** When events happened that were stored after their blocks were digested. */
    async lateIn(blocks: StoredBlock[]): Promise<{ block: number; ms: number }[]> {
      const changed = blocks.filter(({ changed }) => changed > 0);
      if (changed.length === 0) return [];
      return ask("SELECT block, created_at AS ms FROM late_events WHERE block = ANY ($1)", [
        bigints(changed.map(({ id }) => id)),
      ]);
    },
  };
}

type StoredMoments = Omit<TimestampsRow, "gaps"> & { block: number; gaps: string };

function bytesOf(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, "hex"));
}
