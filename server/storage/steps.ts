/** The time for which one step of building a block may hold its thread, since pages wait for it. */
const stepMs = 2;
/** Items sorted at once, a quarter of a millisecond, and items merged between two looks at the clock. */
const runItems = 1_024;
const mergedItems = 256;

/**
 * Divides long work into short steps, however long its items take: between two items, pause if `isOver`, then `begin`
 * the next step.
 */
export class Steps {
  #endsAt = performance.now() + stepMs;

  get isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  begin(): void {
    this.#endsAt = performance.now() + stepMs;
  }
}

/** Sorts in steps, and returns the sorted items. Null is a pause. */
export function* sorted<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  steps: Steps,
): Generator<null, Item[]> {
  let runs: Item[][] = [];
  for (let from = 0; from < items.length; from += runItems) {
    runs.push(items.slice(from, from + runItems).sort(compare));
    if (!steps.isOver) continue;
    yield null;
    steps.begin();
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left, right = []] = [runs[index]!, runs[index + 1]];
      const both: Item[] = [];
      for (let [a, b] = [0, 0]; a < left.length || b < right.length; ) {
        const isLeft = b === right.length || (a < left.length && compare(left[a]!, right[b]!) <= 0);
        both.push(isLeft ? left[a++]! : right[b++]!);
        if (both.length % mergedItems > 0 || !steps.isOver) continue;
        yield null;
        steps.begin();
      }
      merged.push(both);
    }
    runs = merged;
  }
  return runs[0] ?? [];
}
