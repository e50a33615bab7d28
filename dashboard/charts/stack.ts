export type Values = readonly (number | null)[];

/** Running totals: each series on top of the ones before it. */
export function stack(series: readonly Values[]): number[][] {
  let below: number[] = [];
  return series.map((values) => {
    below = values.map((value, index) => (below[index] ?? 0) + (value ?? 0));
    return below;
  });
}
