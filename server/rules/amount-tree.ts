import type { RuleMeasure } from "../schemas/metric-condition.ts";
import type { Amount } from "./metric-value.ts";

/**
 * The amounts of consecutive parts of time, joined by twos, so that those of any window are a few
 * (https://en.wikipedia.org/wiki/Segment_tree). Sums are only added, never taken away, so decimals stay as exact as in a
 * plain sum.
 */
export class AmountTree {
  /** The node `n` joins the nodes `2n` and `2n + 1`; the parts are the last ones. */
  readonly #nodes: Amount[];
  readonly #size: number;

  constructor({ metric }: RuleMeasure, parts: readonly Amount[]) {
    this.#size = parts.length;
    this.#nodes = [...parts, ...parts];
    for (let node = parts.length - 1; node > 0; node--) {
      const [a, b] = [this.#nodes[2 * node]!, this.#nodes[2 * node + 1]!];
      this.#nodes[node] = { total: join(metric, a.total, b.total), count: a.count + b.count };
    }
  }

  /** The amounts that make up the parts from one index up to another, exclusive. */
  between(from: number, to: number): Amount[] {
    const found: Amount[] = [];
    let [left, right] = [from + this.#size, to + this.#size];
    for (; left < right; left >>= 1, right >>= 1) {
      if (left % 2 === 1) found.push(this.#nodes[left++]!);
      if (right % 2 === 1) found.push(this.#nodes[--right]!);
    }
    return found;
  }
}

function join(metric: RuleMeasure["metric"], a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  if (metric === "minimum") return Math.min(a, b);
  return metric === "maximum" ? Math.max(a, b) : a + b;
}
