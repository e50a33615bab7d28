import type { Condition } from "../event/match.ts";
import type { MsRange } from "./block.ts";

/** Tokens unknown to a block that are looked up in the index, and their events that are used. */
export const unknownTokensMax = 64;
export const unknownEventsMax = 1_000;

/** The range that no part covers yet. It starts where the last part ended. */
export class PendingRange {
  readonly #range: MsRange;
  readonly #ascending: boolean;
  #start: number;
  #end: number;

  constructor(range: MsRange, ascending: boolean) {
    this.#range = range;
    this.#ascending = ascending;
    this.#start = this.#end = startOf(range, ascending);
  }

  get isOpen(): boolean {
    return this.#start !== this.#end;
  }

  extendTo(ms: number): void {
    const end = Math.min(Math.max(ms, this.#range.fromMs), this.#range.toMs);
    if (this.#ascending ? end > this.#end : end < this.#end) this.#end = end;
  }

  take(): MsRange {
    const [fromMs, toMs] = this.#ascending ? [this.#start, this.#end] : [this.#end, this.#start];
    this.#start = this.#end;
    return { fromMs, toMs };
  }
}

/** Where a range begins and ends for a query in this order. */
export function startOf({ fromMs, toMs }: MsRange, ascending: boolean): number {
  return ascending ? fromMs : toMs;
}

export function endOf({ fromMs, toMs }: MsRange, ascending: boolean): number {
  return ascending ? toMs : fromMs;
}

/** Lists of tokens of which every match has at least one. */
export function* requiredTokens(condition: Condition): Generator<string[]> {
  if (condition.kind === "tokens") yield condition.tokens;
  else if (condition.kind === "andNot") yield* requiredTokens(condition.of);
  else if (condition.kind === "all") for (const part of condition.of) yield* requiredTokens(part);
}
