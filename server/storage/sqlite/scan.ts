import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import type { TokenCondition } from "../../event/match.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { Columns } from "../analysis/batch.ts";
import { changedRowsMax, withChanges } from "../analysis/changed-block.ts";
import { columnsIn } from "../analysis/columns.ts";
import { bitsOf, type TimedEvent } from "../analysis/event-columns.ts";
import { ordinalsWith } from "../analysis/rare-tokens.ts";
import type { Scan, ScanQuery } from "../analysis/scan.ts";
import type { Bits } from "../bits.ts";
import { type MsRange, ordinalFrom } from "../block.ts";
import { evaluate } from "../evaluate.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import type { Bodies } from "./bodies.ts";
import { type Match, matchOf, textOf } from "./match.ts";
import { rowKeyAt } from "./row-key.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Rows that one statement reads. */
const runRows = 1_000;
/** Events with a token that is rare in a block. More than this means that the block does not know the token. */
const rareEventsMax = 256;

type Row = [ms: number, sequence: number, body: string];

/** The matches of a block for each filter, its columns, and the ordinals of a range in it. */
type BlockScan = {
  matched: readonly (Bits | null)[];
  columns: Columns;
  from: number;
  to: number;
  endMs: number;
};

/** Reads events for analyses: columns of blocks, and rows of the time between them. */
export function createScan(database: Database, vocabulary: Vocabulary, blocks: Blocks, bodies: Bodies): Scan {
  const selectRows = database.prepare(
    `SELECT events.row_key >> 21, events.row_key & 2097151, events.body
     FROM events_index JOIN events ON events.row_key = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3 ORDER BY events_index.rowid LIMIT ?4`,
  );
  const selectColumn = database.prepare(
    "SELECT bytes FROM block_columns WHERE from_ms = ?1 AND project_id = ?2 AND name = ?3",
  );
  const selectEntries = database.prepare(
    `SELECT rowid >> 21, rowid & 2097151 FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 AND rowid & 2097151 <> 2097151 ORDER BY rowid LIMIT ?4`,
  );
  const selectOfMs = database.prepare(
    "SELECT body FROM events WHERE row_key >= ?1 AND row_key < ?2 AND project_id = ?3 ORDER BY row_key LIMIT ?4",
  );
  const selectNextMs = database.prepare<{ ms: number }, [bigint]>(
    "SELECT row_key >> 21 AS ms FROM events WHERE row_key >= ?1 ORDER BY row_key LIMIT 1",
  );
  const countBefore = database.prepare<{ events: number }, [bigint, bigint]>(
    "SELECT count(*) AS events FROM events WHERE row_key >= ?1 AND row_key < ?2",
  );
  // One transaction, because blocks are rebuilt at the same time.
  const nextBlock = database.transaction(
    (query: ScanQuery, matches: Match[], range: MsRange): { startMs: number; scan: BlockScan } | null => {
      for (const block of blocks.between(range.fromMs, range.toMs, "asc")) {
        const scan = scanOf(block, query, matches, range);
        if (scan) return { startMs: Math.max(block.fromMs, range.fromMs), scan };
      }
      return null;
    },
  );

  return async function scan(query, batches, take, { signal, onProgress }) {
    const { projectId, filters, range } = query;
    const turns = new Turns(projectId);
    const matches = filters.map((filter) => matchOf(projectId, filter, vocabulary));
    const conditions = matches.map((match) => match.indexQuery);
    const any: TokenCondition = conditions.length === 1 ? conditions[0]! : { kind: "any", of: conditions };
    const text = textOf(any, { sentinels: true });
    const usesBlocks = matches.every(({ isExact }) => isExact);

    for (let ms = range.fromMs; ms < range.toMs; ) {
      const next = usesBlocks ? nextBlock(query, matches, { ...range, fromMs: ms }) : null;
      const rowsEndMs = next?.startMs ?? range.toMs;
      if (ms < rowsEndMs) await readRows({ fromMs: ms, toMs: rowsEndMs });
      ms = rowsEndMs;
      if (!next) continue;
      const { matched, columns, from, to, endMs } = next.scan;
      batches.addBlock(matched, from, to, columns);
      await take(batches.take());
      ms = endMs;
      await proceed(ms);
    }

    async function readRows({ fromMs, toMs }: MsRange): Promise<void> {
      const high = rowKeyAt(toMs) - 1n;
      let low = rowKeyAt(fromMs);
      for (;;) {
        const rows = bodies.reading(() => {
          const rows = selectRows.values(text, low, high, runRows) as Row[];
          for (const [ms, , body] of rows) batches.addEvent(JSON.parse(`{${bodies.of(body)}}`) as Event, ms);
          return rows;
        });
        await take(batches.take());
        const last = rows.at(-1);
        if (!last || rows.length < runRows) return;
        low = rowKeyAt(last[0], last[1]) + 1n;
        await proceed(last[0]);
      }
    }

    async function proceed(ms: number): Promise<void> {
      onProgress?.((ms - range.fromMs) / (range.toMs - range.fromMs));
      await turns.next();
      signal?.throwIfAborted();
    }
  };

  /** Null if the block can't answer the query. */
  function scanOf(
    block: StoredBlock,
    { projectId, filters, fields }: ScanQuery,
    matches: Match[],
    range: MsRange,
  ): BlockScan | null {
    const changedMs = new Set(blocks.changesIn(block).map(([ms]) => ms));
    const columns = columnsIn(fields, (name) => {
      const [row] = selectColumn.values(block.fromMs, projectId, name) as [Uint8Array][];
      return row?.[0];
    });
    if (!columns) return null;
    const ms = blocks.timestampsOf(block);
    const reader = ordinalsWith(blocks, (token) => rareOrdinals(block, token, ms, changedMs));
    const matched: (Bits | null)[] = [];
    for (const { query } of matches) {
      const { ifAbsent, unknown, unknownNegated, isOpen } = evaluate(query, block, reader);
      if (isOpen || unknown.length + unknownNegated.length > 0) return null;
      matched.push(ifAbsent);
    }
    const scanned = { matched, columns: { ...columns, ms } };
    const current = changedMs.size === 0 ? scanned : withRows();
    if (!current) return null;
    const timestamps = { first: 0, ms: current.columns.ms };
    const endMs = Math.min(block.toMs, range.toMs);
    return {
      ...current,
      from: ordinalFrom(timestamps, range.fromMs),
      to: ordinalFrom(timestamps, endMs),
      endMs,
    };

    function withRows(): Pick<BlockScan, "matched" | "columns"> | null {
      const events = bodies.reading(() => eventsOf(projectId, changedMs));
      if (!events) return null;
      const columns = withChanges({ ...scanned, changedMs, events }, filters, fields);
      return { matched: bitsOf(columns.masks, filters.length), columns };
    }
  }

  /** All events of some milliseconds, which are in order; null if there are too many. */
  function eventsOf(projectId: number, milliseconds: Iterable<number>): TimedEvent[] | null {
    const events: TimedEvent[] = [];
    let nextMs = 0;
    for (const ms of milliseconds) {
      // Most changes are events that have expired, with all others of their time.
      if (ms < nextMs) continue;
      const low = rowKeyAt(ms);
      nextMs = selectNextMs.get(low)?.ms ?? Number.POSITIVE_INFINITY;
      if (ms < nextMs) continue;
      const rows = selectOfMs.values(low, rowKeyAt(ms + 1), projectId, changedRowsMax + 1) as [
        body: string,
      ][];
      if (events.length + rows.length > changedRowsMax) return null;
      for (const [body] of rows) events.push({ ms, event: JSON.parse(`{${bodies.of(body)}}`) as Event });
    }
    return events;
  }

  /** The ordinals of a token's events, from the index, but for milliseconds that changed; null if there are too many. */
  function rareOrdinals(
    { fromMs, toMs }: StoredBlock,
    token: string,
    ms: Float64Array,
    changedMs: ReadonlySet<number>,
  ): number[] | null {
    const text = textOf({ kind: "tokens", tokens: [token] }, { sentinels: true });
    const entries = selectEntries.values(text, rowKeyAt(fromMs), rowKeyAt(toMs) - 1n, rareEventsMax) as [
      ms: number,
      sequence: number,
    ][];
    if (entries.length === rareEventsMax) return null;
    return entries.flatMap(([at, sequence]) => {
      if (changedMs.has(at)) return [];
      const ordinal = ordinalFrom({ first: 0, ms }, at);
      if (ms[ordinal + 1] !== at) return ordinal;
      return ordinal + countBefore.get(rowKeyAt(at), rowKeyAt(at, sequence))!.events;
    });
  }
}
