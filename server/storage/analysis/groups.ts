import type { Batch } from "./batch.ts";
import { DecimalSums } from "./decimal-sums.ts";
import { grown } from "./grown.ts";
import { LastBuckets } from "./numbered.ts";
import type { Measured, Metric } from "./queries.ts";

/** Cells that are kept for each bucket of each group. With more, only the whole range is. */
const cellsMax = 500_000;

/**
 * A metric of groups of events, by bucket and overall. Events come in the order of time.
 *
 * A group has a cell for each bucket and one for the whole range.
 */
export class Groups {
  readonly #metric: Metric;
  readonly #cellsMax: number;
  #buckets: number;
  #groups = 0;
  #counts: Float64Array;
  /** Users, or the lowest or highest number. */
  #values: Float64Array;
  #sums = new DecimalSums();
  /** Sums of the whole range are those of its buckets, added up when they are asked for. */
  readonly #isSummed: boolean;
  readonly #summedGroups = new Set<number>();
  readonly #lastBuckets = new LastBuckets();

  constructor(metric: Metric, buckets: number, max = cellsMax) {
    this.#metric = metric;
    this.#isSummed = metric === "sum" || metric === "average";
    this.#buckets = buckets;
    this.#cellsMax = max;
    this.#counts = new Float64Array(4 * (buckets + 1));
    this.#values = new Float64Array(4 * (buckets + 1));
  }

  /** Whether it has only the whole range, because there were too many groups. */
  get isTotal(): boolean {
    return this.#buckets === 0;
  }

  /**
   * Adds an entry of a batch. Throws `TooLargeError`.
   *
   * @param isCounted - false if the group already has this event, of which only another user is new
   */
  add(group: number, bucket: number, batch: Batch, at: number, isCounted = true): void {
    if (group >= this.#groups) this.#addGroups(group + 1);
    const first = group * (this.#buckets + 1);
    const overall = first + this.#buckets;
    if (this.#metric === "users") {
      const user = batch.users[at]!;
      if (user !== 0) {
        const last = this.#lastBuckets.set(group, user, bucket);
        if (last === 0) this.#values[overall]!++;
        if (last !== bucket + 1 && this.#buckets > 0) this.#values[first + bucket]!++;
      }
    } else if (this.#metric !== "events" && isCounted) {
      if (this.#buckets > 0) this.#addNumber(first + bucket, batch, at);
      if (this.#buckets === 0 || !this.#isSummed) this.#addNumber(overall, batch, at);
    }
    if (!isCounted) return;
    const events = batch.counts[at]!;
    if (this.#buckets > 0) this.#counts[first + bucket]! += events;
    this.#counts[overall]! += events;
  }

  has(group: number): boolean {
    return group < this.#groups && this.#counts[this.#overallOf(group)]! > 0;
  }

  measured(group: number): Measured {
    if (group >= this.#groups) this.#addGroups(group + 1);
    this.#sumUp(group);
    const cells = Array.from(
      { length: this.#buckets + 1 },
      (_, index) => group * (this.#buckets + 1) + index,
    );
    const values = cells.map((cell) => this.#valueOf(cell));
    return {
      counts: cells.slice(0, -1).map((cell) => this.#counts[cell]!),
      values: values.slice(0, -1),
      overall: values.at(-1)!,
    };
  }

  /** The groups with events whose overall value is largest; equal ones in the order of their texts' code units. */
  largest(count: number, groups: { group: number; text: string }[]): { group: number; text: string }[] {
    return groups
      .filter(({ group }) => this.has(group))
      .map((entry) => {
        this.#sumUp(entry.group);
        return { ...entry, value: this.#valueOf(this.#overallOf(entry.group))! };
      })
      .sort((a, b) => b.value - a.value || (a.text < b.text ? -1 : 1))
      .slice(0, count);
  }

  /** Adds groups to another one. Not for users, who can be in several groups. */
  merge(group: number, others: readonly number[]): void {
    if (group >= this.#groups) this.#addGroups(group + 1);
    for (const other of others) {
      this.#sumUp(other);
      for (let index = 0; index <= this.#buckets; index++) {
        const to = group * (this.#buckets + 1) + index;
        const from = other * (this.#buckets + 1) + index;
        if (this.#counts[from] === 0) continue;
        if (this.#isSummed) this.#sums.merge(to, from);
        else this.#addDouble(to, this.#values[from]!);
        this.#counts[to]! += this.#counts[from]!;
      }
    }
    this.#summedGroups.add(group);
  }

  /** Call it when all events are added. */
  #sumUp(group: number): void {
    if (!this.#isSummed || this.#summedGroups.has(group)) return;
    this.#summedGroups.add(group);
    const overall = this.#overallOf(group);
    for (let cell = overall - this.#buckets; cell < overall; cell++)
      if (this.#counts[cell]! > 0) this.#sums.merge(overall, cell);
  }

  #addNumber(cell: number, { numbers, tagNumbers, additions }: Batch, at: number): void {
    const number = numbers[at]!;
    if (this.#isSummed) this.#sums.add(cell, tagNumbers, number, additions[at]);
    else this.#addDouble(cell, tagNumbers.doubles[number]!);
  }

  /** Call it before the cell's count is changed. */
  #addDouble(cell: number, double: number): void {
    const isFirst = this.#counts[cell] === 0;
    if (isFirst || (this.#metric === "minimum" ? double < this.#values[cell]! : double > this.#values[cell]!))
      this.#values[cell] = double;
  }

  #valueOf(cell: number): number | null {
    if (this.#metric === "users") return this.#values[cell]!;
    const count = this.#counts[cell]!;
    if (this.#metric === "events") return count;
    if (this.#metric === "sum") return count === 0 ? 0 : this.#sums.number(cell);
    if (count === 0) return null;
    return this.#metric === "average" ? this.#sums.mean(cell, count) : this.#values[cell]!;
  }

  #overallOf(group: number): number {
    return (group + 1) * (this.#buckets + 1) - 1;
  }

  #addGroups(count: number): void {
    if (this.#buckets > 0 && count > 1 && count * (this.#buckets + 1) > this.#cellsMax) this.#keepTotals();
    this.#groups = count;
    while (count * (this.#buckets + 1) > this.#counts.length) {
      this.#counts = grown(this.#counts);
      this.#values = grown(this.#values);
    }
  }

  #keepTotals(): void {
    const overall = Array.from({ length: this.#groups }, (_, group) => {
      this.#sumUp(group);
      return this.#overallOf(group);
    });
    this.#summedGroups.clear();
    this.#buckets = 0;
    this.#counts = Float64Array.from([...overall.map((cell) => this.#counts[cell]!), 0]);
    this.#values = Float64Array.from([...overall.map((cell) => this.#values[cell]!), 0]);
    const sums = new DecimalSums();
    for (const [group, cell] of overall.entries()) sums.merge(group, cell, this.#sums);
    this.#sums = sums;
  }
}
