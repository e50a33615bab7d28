import { type Condition, membersIn, needsRows, numbersIn } from "../../event/match.ts";
import { ordinalsOf } from "../bits.ts";
import { changedFew, type MsRange } from "../block.ts";
import { membersColumns } from "../block-members.ts";
import { directoryTokens } from "../block-numbers.ts";
import { type Evaluation, evaluate } from "../evaluate.ts";
import {
  endOf,
  PendingRange,
  requiredTokens,
  startOf,
  unknownEventsMax,
  unknownTokensMax,
} from "../prune-blocks.ts";
import type { Blocks, Entry, StoredBlock } from "./blocks.ts";
import { queryOfTokens } from "./match.ts";
import type { Query } from "./query.ts";
import { withinOf } from "./scan-cursor.ts";

/**
 * A range to search: only at these timestamps, in order, or with the index if they are null. With `isRare`, the index
 * finds few events however long the range is.
 */
export type Part = { range: MsRange; timestamps: number[] | null; isRare: boolean };

export type PruneQuery = {
  projectId: number;
  condition: Condition;
  range: MsRange;
  order: "asc" | "desc";
  /** How many more events are needed. */
  wanted: () => number;
};

/** Blocks are evaluated in chunks, each this many times as large as the one before. */
const chunkGrowth = 4;
const chunkMax = 128;
/** Pairs of blocks and tokens that one query reads. */
const pairsMax = 4_096;
/** The rows of numbers count for so many tokens, because they are longer. */
const numberBucketsUsual = 256;
/** Timestamps of a part beyond those wanted, at first and at most: more each time, as those before did not suffice. */
const timestampsSpare = 16;
const timestampsMax = 2_000;

/** What is known of a block: its matches, null if the index must be asked, and the timestamps of late events. */
type BlockResult = { block: StoredBlock; found: Evaluation | null; late: number[] };

/** Decides where to search for a query, and leaves out the blocks that can't have a match. */
export function createPruneBlocks(runQuery: Query, blocks: Blocks) {
  /** The parts to search, in order. Each is computed only when it is needed. */
  return async function* pruneBlocks(pruneQuery: PruneQuery): AsyncGenerator<Part> {
    const { projectId, condition, range, order } = pruneQuery;
    const ascending = order === "asc";
    const tokens = [...tokensOf(condition)];
    const weight = weightOf(condition, tokens);
    const pending = new PendingRange(range, ascending);
    let isRare = false;
    const takePending = (): Part => {
      const part = { range: pending.take(), timestamps: null, isRare };
      isRare = false;
      return part;
    };
    let size = 1;
    let required: string[] | null | undefined;
    for await (const listed of blocks.between(projectId, range, order)) {
      let known: Set<number> | null = null;
      for (let at = 0; at < listed.length; ) {
        pending.extendTo(startOf(listed[at]!, ascending));
        if (required === undefined) {
          // Time without blocks comes first; it can have enough events.
          if (pending.isOpen) yield takePending();
          const first = listed[at]!;
          const { withAny } = await blocks.read([first], tokens);
          required = [...requiredTokens(condition)].find((any) => withAny(first, any).bits === null) ?? null;
        }
        if (required) {
          known ??= await blocks.withAnyToken(listed, required);
          const isKnown = known.has(listed[at]!.id);
          let end = at;
          while (end < listed.length && known.has(listed[end]!.id) === isKnown) end++;
          if (!isKnown) {
            pending.extendTo(endOf(listed[end - 1]!, ascending));
            isRare = true;
            at = end;
            continue;
          }
        }
        const chunk = chunkAt(listed, at, Math.min(size, pairsMax / weight), known);
        for (const group of groupsOf(await evaluateChunk(pruneQuery, chunk, tokens), ascending)) {
          pending.extendTo(startOf(group[0]!.block, ascending));
          const end = endOf(group.at(-1)!.block, ascending);
          if (group[0]!.found === null) {
            pending.extendTo(end);
            continue;
          }
          let isDeleted = false;
          for await (const { timestamps, end: timestampsEnd } of timestampsIn(group, pruneQuery)) {
            isDeleted = timestamps === null;
            if (timestamps === null) break;
            if (pending.isOpen) yield takePending();
            pending.extendTo(timestampsEnd ?? end);
            if (pending.isOpen) yield { ...takePending(), timestamps };
          }
          if (!isDeleted && pending.isOpen) yield takePending();
          pending.extendTo(end);
          // If a block was deleted, the index must be asked for the rest of the group.
          if (!isDeleted) pending.take();
        }
        at += chunk.length;
        size = Math.min(size * chunkGrowth, chunkMax);
      }
    }
    pending.extendTo(endOf(range, ascending));
    if (pending.isOpen) yield takePending();
  };

  async function evaluateChunk(
    pruneQuery: PruneQuery,
    chunk: StoredBlock[],
    tokens: string[],
  ): Promise<BlockResult[]> {
    const { condition, projectId } = pruneQuery;
    // For a number, the alternative is to read all rows.
    const isLeftToIndex = ({ changed }: StoredBlock) => changed > changedFew && !needsRows(condition);
    const [reader, late] = await Promise.all([
      blocks.read(chunk, tokens, {
        numbers: numbersIn(condition),
        members: membersIn(condition),
      }),
      blocks.changesIn(chunk.filter((block) => !isLeftToIndex(block))),
    ]);
    const results = chunk.map((block): BlockResult => {
      if (isLeftToIndex(block)) return { block, found: null, late: [] };
      const found = evaluate(condition, block, reader);
      const isUsable = found.upper === null || !(found.isOpen || found.unknown.length > unknownTokensMax);
      const own = late.filter((result) => result.block === block.id).map(({ ms }) => ms);
      return { block, found: isUsable ? found : null, late: own };
    });
    const incomplete = results.filter(
      ({ found }) => found && found.upper !== null && found.unknown.length > 0,
    );
    if (incomplete.length === 0) return results;
    const unknown = [...new Set(incomplete.flatMap(({ found }) => found!.unknown))];
    const entries =
      unknown.length > unknownTokensMax ? null : await entriesOf(projectId, unknown, incomplete);
    for (const result of incomplete) {
      if (entries === null) result.found = null;
      else {
        const { fromMs, toMs } = result.block;
        for (const ms of entries) if (ms >= fromMs && ms < toMs) result.late.push(ms);
      }
    }
    return results;
  }

  /** The timestamps of events with any of the tokens, in the time of the blocks; null if there are too many. */
  async function entriesOf(
    projectId: number,
    tokens: string[],
    results: BlockResult[],
  ): Promise<number[] | null> {
    const fromMs = Math.min(...results.map(({ block }) => block.fromMs));
    const toMs = Math.max(...results.map(({ block }) => block.toMs));
    const within = withinOf(projectId, { fromMs, toMs });
    const query = queryOfTokens(tokens);
    const rows = await runQuery<{ ms: number }>(
      `SELECT created_at AS ms FROM events
       WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND tokens @@ $4::tsquery LIMIT $5`,
      [projectId, fromMs, toMs, within === null ? query : `${query} & ${within}`, unknownEventsMax + 1],
    );
    return rows.length > unknownEventsMax ? null : rows.map(({ ms }) => ms);
  }

  /**
   * The timestamps of a group's candidates, some at a time, and the end of the time that they cover; null for the rest
   * of the group. If a block was deleted meanwhile, the timestamps are null.
   */
  async function* timestampsIn(
    group: BlockResult[],
    { order, range, wanted }: PruneQuery,
  ): AsyncGenerator<{ timestamps: number[] | null; end: number | null }> {
    const ascending = order === "asc";
    const sign = ascending ? 1 : -1;
    const isWithin = (ms: number) => ms >= range.fromMs && ms < range.toMs;
    const late = group.flatMap(({ late }) => late).filter(isWithin);
    const entries = entriesIn(group, ascending);
    let spare = timestampsSpare;
    for (let isLast = false; !isLast; spare = Math.min(spare * 4, timestampsMax)) {
      const next: Entry[] = [];
      const count = wanted() + spare;
      while (next.length < count) {
        const { value, done } = entries.next();
        if (done) {
          isLast = true;
          break;
        }
        next.push(value);
      }
      const found = await blocks.timestampsOf(next);
      const timestamps = new Set<number>();
      let [isDeleted, lastMs] = [false, null as number | null];
      for (const ms of found) {
        if (ms === null) isDeleted = true;
        else lastMs = ms;
        if (ms !== null && isWithin(ms)) timestamps.add(ms);
      }
      if (isDeleted) return yield { timestamps: null, end: null };
      const end = isLast || lastMs === null ? null : ascending ? lastMs + 1 : lastMs;
      for (const ms of late) if (end === null || (ascending ? ms < end : ms >= end)) timestamps.add(ms);
      if (timestamps.size > 0) yield { timestamps: [...timestamps].sort((a, b) => sign * (a - b)), end };
    }
  }
}

/** A column of users or of a tag takes as much as so many other rows. */
const membersColumnWeight = 256;

/** The rows of a block that a condition can need, at a guess. */
export function weightOf(condition: Condition, tokens: string[]): number {
  const ofMembers = membersColumnWeight * new Set(membersIn(condition).flatMap(membersColumns)).size;
  return tokens.length + 1 + numberBucketsUsual * numbersIn(condition).length + ofMembers;
}

/** All tokens of a condition. */
export function tokensOf(condition: Condition): Set<string> {
  switch (condition.kind) {
    case "tokens":
      return new Set(condition.tokens);
    case "prefix":
      return new Set();
    case "members":
      return new Set();
    case "number":
      return new Set(directoryTokens(condition));
    case "all":
    case "any":
      return new Set(condition.of.flatMap((part) => [...tokensOf(part)]));
    case "andNot":
      return new Set([...tokensOf(condition.of), ...tokensOf(condition.not)]);
  }
}

/** The next blocks to evaluate, up to `size`. */
function chunkAt(listed: StoredBlock[], at: number, size: number, known: Set<number> | null): StoredBlock[] {
  const chunk = listed.slice(at, at + Math.max(1, Math.floor(size)));
  const end = known ? chunk.findIndex(({ id }) => !known.has(id)) : -1;
  return end < 0 ? chunk : chunk.slice(0, end);
}

/** Groups adjacent blocks: those with a result, and those for which the index must be asked. */
function groupsOf(results: BlockResult[], ascending: boolean): BlockResult[][] {
  const groups: BlockResult[][] = [];
  for (const result of results) {
    const last = groups.at(-1)?.at(-1);
    const isNext =
      last &&
      endOf(last.block, ascending) === startOf(result.block, ascending) &&
      (last.found === null) === (result.found === null);
    if (isNext) groups.at(-1)!.push(result);
    else groups.push([result]);
  }
  return groups;
}

function* entriesIn(group: BlockResult[], ascending: boolean): Generator<Entry> {
  for (const { block, found } of group) {
    if (!found?.ifAbsent) continue;
    for (const ordinal of ordinalsOf(found.ifAbsent, ascending)) yield { block, ordinal };
  }
}
