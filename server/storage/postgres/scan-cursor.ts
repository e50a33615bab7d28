import type { Cursor } from "../../event/filter.ts";
import { token } from "../../event/tokens.ts";
import type { MsRange } from "../block.ts";
import type { EventQuery } from "../event-queries.ts";
import { queryOfTokens } from "./match.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Hours or days whose tokens a window's query contains. */
const unitsMax = 48;
/** No event's `createdAt` is further in the future. */
const futureMs = 7 * dayMs;
/** The bounds of a query without bounds. */
export const earliest = -(2 ** 53);
export const latest = 2 ** 53;

/** A query for rows. With `above`, only those that arrived later, as in the column `arrival`. */
export type RowQuery = EventQuery & { above?: bigint };

/** How far a query has got, and the window of time that it reads. */
export class ScanCursor {
  readonly #ascending: boolean;
  readonly #projectId: number;
  readonly #above: string;
  #lowest: number;
  #highest: number;
  #fromMs: number;
  #toMs: number;
  #after: Cursor | null;

  constructor({ projectId, filter, order, after, above }: RowQuery) {
    this.#ascending = order === "asc";
    this.#above = aboveSql(above);
    this.#projectId = projectId;
    this.#lowest = this.#fromMs = filter.fromMs ?? earliest;
    this.#highest = this.#toMs = filter.toMs ?? latest;
    this.#after = null;
    if (after) this.moveTo(after);
  }

  get order(): string {
    const direction = this.#ascending ? "ASC" : "DESC";
    return `ms ${direction}, id ${direction}`;
  }

  /** The range left to search. */
  get range(): MsRange {
    return { fromMs: this.#fromMs, toMs: this.#toMs };
  }

  /** SQL for the rows of the window; they are only in order if `condition` is empty. */
  sql(columns: string, condition: string, limit: string): string {
    const direction = this.#ascending ? "ASC" : "DESC";
    const after = this.#after
      ? `(created_at, id) ${this.#ascending ? ">" : "<"} ($4::bigint, $5::uuid)`
      : "$4::bigint IS NULL AND $5::uuid IS NULL";
    const order = condition === "" ? `ORDER BY created_at ${direction}, id ${direction}` : "";
    return `SELECT ${columns} FROM events
      WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND ${after} ${this.#above} ${condition}
      ${order} LIMIT ${limit}`;
  }

  get parameters(): unknown[] {
    const after = this.#after;
    return [this.#projectId, this.#fromMs, this.#toMs, after?.ms ?? null, after?.id ?? null];
  }

  startMs(firstRowMs: number): number {
    return this.#after?.ms ?? firstRowMs;
  }

  /** Continues after an event. */
  moveTo(row: { ms: number; id: string }): void {
    this.#after = { ms: row.ms, id: row.id };
    // Implied by `#after`, but the planner needs it to choose partitions.
    if (this.#ascending) this.#fromMs = Math.max(this.#fromMs, row.ms);
    else this.#toMs = Math.min(this.#toMs, row.ms + 1);
  }

  /** Limits the search to a range. Events up to the last one seen are still left out. */
  enter({ fromMs, toMs }: MsRange): void {
    this.#lowest = this.#fromMs = fromMs;
    this.#highest = this.#toMs = toMs;
  }

  /**
   * Limits the window to `ms` milliseconds, extended to the end of an hour or day. Returns whether it is the last
   * window, and the query for the tokens of its hours or days; null if there are too many.
   */
  openWindow(ms: number): { isLast: boolean; within: string | null } {
    const unitMs = ms <= unitsMax * hourMs ? hourMs : dayMs;
    const length = Math.ceil(ms);
    if (this.#ascending) {
      const end = Math.ceil((this.#fromMs + length) / unitMs) * unitMs;
      this.#toMs = end > Date.now() + futureMs ? this.#highest : Math.min(this.#highest, end);
    } else {
      const start = Math.floor((this.#toMs - length) / unitMs) * unitMs;
      this.#fromMs = start < 0 ? this.#lowest : Math.max(this.#lowest, start);
    }
    const isLast = this.#ascending ? this.#toMs === this.#highest : this.#fromMs === this.#lowest;
    return { isLast, within: withinOf(this.#projectId, this.range) };
  }

  /** Continues where the window ended. */
  closeWindow(): void {
    if (this.#ascending) {
      this.#fromMs = this.#toMs;
      this.#toMs = this.#highest;
    } else {
      this.#toMs = this.#fromMs;
      this.#fromMs = this.#lowest;
    }
  }
}

/** The condition for events that arrived later; none without ClickHouse, where it could mislead the planner. */
export function aboveSql(above: bigint | undefined): string {
  return above === undefined ? "" : `AND arrival > ${above}`;
}

/** An event's tokens, and those of its hour and day, by which the index can be asked for a range of time. */
export function timedTokens(projectId: number, tokens: string, createdAtMs: number): string {
  const hour = token.hour(projectId, Math.floor(createdAtMs / hourMs));
  return `${tokens} ${hour} ${token.day(projectId, Math.floor(createdAtMs / dayMs))}`;
}

/** The query for the tokens of a range's hours or days; null if there are too many. */
export function withinOf(projectId: number, { fromMs, toMs }: MsRange): string | null {
  for (const [unitMs, tokenOf] of [
    [hourMs, token.hour],
    [dayMs, token.day],
  ] as const) {
    const first = Math.floor(fromMs / unitMs);
    const last = Math.floor((toMs - 1) / unitMs);
    if (last - first > unitsMax + 1) continue;
    return queryOfTokens(Array.from({ length: last - first + 1 }, (_, at) => tokenOf(projectId, first + at)));
  }
  return null;
}
