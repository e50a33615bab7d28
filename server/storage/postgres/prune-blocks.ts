import type { Condition } from "../../event/match.ts";
import { ordinalsOf } from "../bits.ts";
import { evaluate, type Found } from "../evaluate.ts";
import type { Blocks, Entry, StoredBlock } from "./blocks.ts";
import { queryOfTokens } from "./match.ts";
import type { Query } from "./query.ts";
import { type MsRange, withinOf } from "./scan-cursor.ts";

/**
 * A range of time that is to be looked through: at these moments alone, in order, or with the index; that finds few, where `isRare`, however
 * long the range.
 */
export type Part = { range: MsRange; moments: number[] | null; isRare: boolean };

/** What is to be found, and where. */
export type Sought = {
  projectId: number;
  condition: Condition;
  range: MsRange;
  order: "asc" | "desc";
  /** How many are still needed. */
  wanted: () => number;
};

/** Blocks that are looked at together: the next ones four times as many. */
const chunkGrowth = 4;
const chunkMax = 128;
/** Pairs of blocks and tokens that are read together. */
const pairsMax = 4_096;
/** Unknown tokens that are sought beside a digest, and events that they may have in a chunk. */
const unknownMax = 64;
const unknownEventsMax = 1_000;
/** Moments of a part: some more than are wanted, and the more, the more were in vain. */
const momentsSpare = 16;
const momentsMax = 2_000;

/** What a digest tells of a block, where to look between two of its ordinals; null where it does not tell. */
type Told = { block: StoredBlock; found: Found | null; from: number; to: number; late: number[] };

/** Makes the function that says where to look for what a query asks for: blocks where nothing can be found are left out. */
export function createPruneBlocks(ask: Query, blocks: Blocks) {
  /** Gives the parts in order, each only when the one before did not suffice. */
  return async function* narrow(sought: Sought): AsyncGenerator<Part> {
    const { projectId, condition, range, order } = sought;
    const ascending = order === "asc";
    const tokens = [...tokensOf(condition)];
    const open = new Open(range, ascending);
    let size = 1;
    let needed: string[] | null | undefined;
    for await (const listed of blocks.between(projectId, range, order)) {
      let known: Set<number> | null = null;
      for (let at = 0; at < listed.length; ) {
        open.extendTo(near(listed[at]!, ascending));
        if (needed === undefined) {
          // What is in no digest yet is asked about first: there may be enough.
          if (open.isOpen) yield open.take();
          const first = listed[at]!;
          needed = unknownNeeded(condition, await blocks.read([first], tokens), first);
        }
        if (needed) {
          known ??= await blocks.knowing(listed, needed);
          const isKnown = known.has(listed[at]!.id);
          let end = at;
          while (end < listed.length && known.has(listed[end]!.id) === isKnown) end++;
          if (!isKnown) {
            open.extendTo(far(listed[end - 1]!, ascending), true);
            at = end;
            continue;
          }
        }
        const chunk = chunkAt(listed, at, Math.min(size, pairsMax / (tokens.length + 1)), known);
        for (const group of groupsOf(await tell(sought, chunk, tokens), ascending)) {
          open.extendTo(near(group[0]!.block, ascending));
          const end = far(group.at(-1)!.block, ascending);
          if (group[0]!.found === null) {
            open.extendTo(end);
            continue;
          }
          let isGone = false;
          for await (const { moments, end: momentsEnd } of momentsIn(group, sought)) {
            isGone = moments === null;
            if (moments === null) break;
            if (open.isOpen) yield open.take();
            open.extendTo(momentsEnd ?? end);
            if (open.isOpen) yield { ...open.take(), moments };
          }
          // What is left of it, the index is to be asked about.
          if (isGone) open.extendTo(end);
          else {
            if (open.isOpen) yield open.take();
            open.skipTo(end);
          }
        }
        at += chunk.length;
        size = Math.min(size * chunkGrowth, chunkMax);
      }
    }
    open.extendTo(ascending ? range.toMs : range.fromMs);
    if (open.isOpen) yield open.take();
  };

  async function tell(sought: Sought, chunk: StoredBlock[], tokens: string[]): Promise<Told[]> {
    const { condition, projectId, range } = sought;
    const [digests, late] = await Promise.all([blocks.read(chunk, tokens), blocks.lateIn(chunk)]);
    const told = chunk.map((block): Told => {
      const found = evaluate(condition, block, digests);
      const isOfUse = found.most === null || !(found.isVague || found.unknown.length > unknownMax);
      const own = late.filter((one) => one.block === block.id).map(({ ms }) => ms);
      return { block, found: isOfUse ? found : null, from: 0, to: block.events, late: own };
    });
    await cut(told, range);
    const asking = told.filter(({ found }) => found && found.most !== null && found.unknown.length > 0);
    if (asking.length === 0) return told;
    const unknown = [...new Set(asking.flatMap(({ found }) => found!.unknown))];
    const entries = unknown.length > unknownMax ? null : await entriesOf(projectId, unknown, asking);
    for (const one of asking) {
      if (entries === null) one.found = null;
      else {
        const { fromMs, toMs } = one.block;
        for (const ms of entries) if (ms >= fromMs && ms < toMs) one.late.push(ms);
      }
    }
    return told;
  }

  /** Leaves out the events of blocks that happened before or after a range. */
  async function cut(told: Told[], { fromMs, toMs }: MsRange): Promise<void> {
    for (const one of told) {
      const { block, found } = one;
      if (!found?.without) continue;
      const moments = [fromMs, toMs].filter((ms) => ms > block.fromMs && ms < block.toMs);
      if (moments.length === 0) continue;
      const ordinalAt = await blocks.readOrdinals(moments.map((ms) => ({ block, ms })));
      if (ordinalAt === null) one.found = null;
      else {
        if (fromMs > block.fromMs) one.from = ordinalAt(block, fromMs);
        if (toMs < block.toMs) one.to = ordinalAt(block, toMs);
      }
    }
  }

  /** When events happened that have one of some tokens, in the time of some blocks; null where they are too many. */
  async function entriesOf(projectId: number, tokens: string[], told: Told[]): Promise<number[] | null> {
    const fromMs = Math.min(...told.map(({ block }) => block.fromMs));
    const toMs = Math.max(...told.map(({ block }) => block.toMs));
    const within = withinOf(projectId, { fromMs, toMs });
    const query = queryOfTokens(tokens);
    const rows = await ask<{ ms: number }>(
      `SELECT created_at AS ms FROM events
       WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND tokens @@ $4::tsquery LIMIT $5`,
      [projectId, fromMs, toMs, within === null ? query : `${query} & ${within}`, unknownEventsMax + 1],
    );
    return rows.length > unknownEventsMax ? null : rows.map(({ ms }) => ms);
  }

  /**
   * When what is asked for may have happened in blocks that follow one another, some moments at a time, and where these end, but for the last;
   * at last null for the moments where a block was deleted meanwhile.
   */
  async function* momentsIn(
    group: Told[],
    { order, range, wanted }: Sought,
  ): AsyncGenerator<{ moments: number[] | null; end: number | null }> {
    const ascending = order === "asc";
    const sign = ascending ? 1 : -1;
    const isWithin = (ms: number) => ms >= range.fromMs && ms < range.toMs;
    const beside = group.flatMap(({ late }) => late).filter(isWithin);
    const entries = entriesIn(group, ascending);
    let spare = momentsSpare;
    for (let isLast = false; !isLast; spare = Math.min(spare * 4, momentsMax)) {
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
      const found = await blocks.momentsOf(next);
      const moments = new Set<number>();
      let [isGone, lastMs] = [false, null as number | null];
      for (const ms of found) {
        if (ms === null) isGone = true;
        else lastMs = ms;
        if (ms !== null && isWithin(ms)) moments.add(ms);
      }
      if (isGone) return yield { moments: null, end: null };
      const end = isLast || lastMs === null ? null : ascending ? lastMs + 1 : lastMs;
      for (const ms of beside) if (end === null || (ascending ? ms < end : ms >= end)) moments.add(ms);
      if (moments.size > 0) yield { moments: [...moments].sort((a, b) => sign * (a - b)), end };
    }
  }
}

/** Grows from where the parts before ended. */
class Open {
  readonly #range: MsRange;
  readonly #ascending: boolean;
  #start: number;
  #end: number;
  #isRare = false;

  constructor(range: MsRange, ascending: boolean) {
    this.#range = range;
    this.#ascending = ascending;
    this.#start = this.#end = ascending ? range.fromMs : range.toMs;
  }

  get isOpen(): boolean {
    return this.#start !== this.#end;
  }

  /** @param isRare - what is asked for is on few events there */
  extendTo(ms: number, isRare = false): void {
    const end = Math.min(Math.max(ms, this.#range.fromMs), this.#range.toMs);
    if (this.#ascending ? end <= this.#end : end >= this.#end) return;
    this.#end = end;
    if (isRare) this.#isRare = true;
  }

  take(): Part {
    const [fromMs, toMs] = this.#ascending ? [this.#start, this.#end] : [this.#end, this.#start];
    const part = { range: { fromMs, toMs }, moments: null, isRare: this.#isRare };
    this.#start = this.#end;
    this.#isRare = false;
    return part;
  }

  /** Goes on behind a range in which nothing is left. */
  skipTo(ms: number): void {
    this.extendTo(ms);
    this.#start = this.#end;
    this.#isRare = false;
  }
}

function near({ fromMs, toMs }: StoredBlock, ascending: boolean): number {
  return ascending ? fromMs : toMs;
}

function far({ fromMs, toMs }: StoredBlock, ascending: boolean): number {
  return ascending ? toMs : fromMs;
}

/** All tokens that a condition names. */
export function tokensOf(condition: Condition): Set<string> {
  switch (condition.kind) {
    case "tokens":
      return new Set(condition.tokens);
    case "prefix":
      return new Set();
    case "all":
    case "any":
      return new Set(condition.of.flatMap((part) => [...tokensOf(part)]));
    case "andNot":
      return new Set([...tokensOf(condition.of), ...tokensOf(condition.not)]);
  }
}

/** Tokens of which what is asked for must have one, none of which a block's digest knows; null where there are no such. */
function unknownNeeded(
  condition: Condition,
  digests: Awaited<ReturnType<Blocks["read"]>>,
  block: StoredBlock,
): string[] | null {
  switch (condition.kind) {
    case "tokens":
      return digests.withAny(block, condition.tokens).bits === null ? condition.tokens : null;
    case "all": {
      for (const part of condition.of) {
        const needed = unknownNeeded(part, digests, block);
        if (needed) return needed;
      }
      return null;
    }
    case "andNot":
      return unknownNeeded(condition.of, digests, block);
    default:
      return null;
  }
}

/** The next blocks, up to so many, that a digest is asked of. */
function chunkAt(listed: StoredBlock[], at: number, size: number, known: Set<number> | null): StoredBlock[] {
  const chunk = listed.slice(at, at + Math.max(1, Math.floor(size)));
  const end = known ? chunk.findIndex(({ id }) => !known.has(id)) : -1;
  return end < 0 ? chunk : chunk.slice(0, end);
}

/** Blocks that follow one another without a gap, and of which digests tell alike. */
function groupsOf(told: Told[], ascending: boolean): Told[][] {
  const groups: Told[][] = [];
  for (const one of told) {
    const last = groups.at(-1)?.at(-1);
    const isNext =
      last &&
      far(last.block, ascending) === near(one.block, ascending) &&
      (last.found === null) === (one.found === null);
    if (isNext) groups.at(-1)!.push(one);
    else groups.push([one]);
  }
  return groups;
}

function* entriesIn(group: Told[], ascending: boolean): Generator<Entry> {
  for (const { block, found, from, to } of group) {
    if (!found?.without) continue;
    for (const ordinal of ordinalsOf(found.without, ascending)) {
      if (ordinal >= from && ordinal < to) yield { block, ordinal };
    }
  }
}
