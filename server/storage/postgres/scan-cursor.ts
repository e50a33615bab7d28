import type { Cursor } from "../../event/filter.ts";
import { token } from "../../event/tokens.ts";
import type { EventQuery } from "../store.ts";
import { queryOfTokens } from "./match.ts";
import { dayMs, hourMs } from "./tokens.ts";

/** Milliseconds since 1970, the first inclusive and the second not. */
export type MsRange = { fromMs: number; toMs: number };

/** Hours or days that a window names. */
const spansMax = 48;
/** Further ahead than any event's createdAt may be. */
const futureMs = 7 * dayMs;
/** No event lies outside: what is asked for without an end. */
export const earliest = -(2 ** 53);
const latest = 2 ** 53;

/** Where a query has got to, and where the window ends that it looks into. */
export class ScanCursor {
  readonly #isRising: boolean;
  readonly #projectId: number;
  #lowest: number;
  #highest: number;
  #fromMs: number;
  #toMs: number;
  #after: Cursor | null;

  constructor({ projectId, filter, order, after }: EventQuery) {
    this.#isRising = order === "asc";
    this.#projectId = projectId;
    this.#lowest = this.#fromMs = filter.fromMs ?? earliest;
    this.#highest = this.#toMs = filter.toMs ?? latest;
    this.#after = null;
    if (after) this.moveTo(after);
  }

  get order(): string {
    const direction = this.#isRising ? "ASC" : "DESC";
    return `ms ${direction}, id ${direction}`;
  }

  /** What is left. */
  get range(): MsRange {
    return { fromMs: this.#fromMs, toMs: this.#toMs };
  }

  /** The rows of the window, in order where no condition is added to it. */
  sql(columns: string, condition: string, limit: string): string {
    const direction = this.#isRising ? "ASC" : "DESC";
    const after = this.#after
      ? `(created_at, id) ${this.#isRising ? ">" : "<"} ($4::bigint, $5::uuid)`
      : "$4::bigint IS NULL AND $5::uuid IS NULL";
    const order = condition === "" ? `ORDER BY created_at ${direction}, id ${direction}` : "";
    return `SELECT ${columns} FROM events
      WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND ${after} ${condition}
      ${order} LIMIT ${limit}`;
  }

  get parameters(): unknown[] {
    const after = this.#after;
    return [this.#projectId, this.#fromMs, this.#toMs, after?.ms ?? null, after?.id ?? null];
  }

  startMs(firstRowMs: number): number {
    return this.#after?.ms ?? firstRowMs;
  }

  /** Goes on behind an event. */
  moveTo(row: { ms: number; id: string }): void {
    this.#after = { ms: row.ms, id: row.id };
    // Said once more, as partitions are chosen by it.
    if (this.#isRising) this.#fromMs = Math.max(this.#fromMs, row.ms);
    else this.#toMs = Math.min(this.#toMs, row.ms + 1);
  }

  /** Goes on in a range, and not beyond it; what lies before an event that was seen is still left out. */
  enter({ fromMs, toMs }: MsRange): void {
    this.#lowest = this.#fromMs = fromMs;
    this.#highest = this.#toMs = toMs;
  }

  /**
   * Looks no further than so many milliseconds, and on to the end of an hour or a day. Gives whether that is all there is, and the query for
   * the tokens of its hours or days; null where they are too many.
   */
  openWindow(ms: number): { isLast: boolean; within: string | null } {
    const unitMs = ms <= spansMax * hourMs ? hourMs : dayMs;
    const length = Math.ceil(ms);
    if (this.#isRising) {
      const end = Math.ceil((this.#fromMs + length) / unitMs) * unitMs;
      this.#toMs = end > Date.now() + futureMs ? this.#highest : Math.min(this.#highest, end);
    } else {
      const start = Math.floor((this.#toMs - length) / unitMs) * unitMs;
      this.#fromMs = start < 0 ? this.#lowest : Math.max(this.#lowest, start);
    }
    const isLast = this.#isRising ? this.#toMs === this.#highest : this.#fromMs === this.#lowest;
    return { isLast, within: withinOf(this.#projectId, this.range) };
  }

  /** Goes on where the window ended. */
  closeWindow(): void {
    if (this.#isRising) {
      this.#fromMs = this.#toMs;
      this.#toMs = this.#highest;
    } else {
      this.#toMs = this.#fromMs;
      this.#fromMs = this.#lowest;
    }
  }
}

/** The query for the tokens of the hours or days of a range; null where they are too many. */
export function withinOf(projectId: number, { fromMs, toMs }: MsRange): string | null {
  for (const [unitMs, tokenOf] of [
    [hourMs, token.hour],
    [dayMs, token.day],
  ] as const) {
    const first = Math.floor(fromMs / unitMs);
    const last = Math.floor((toMs - 1) / unitMs);
    if (last - first > spansMax + 1) continue;
    return queryOfTokens(Array.from({ length: last - first + 1 }, (_, at) => tokenOf(projectId, first + at)));
  }
  return null;
}
