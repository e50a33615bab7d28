import type { TimeSeries } from "../charts/time-chart.tsx";
import type { Histogram, Split } from "./histogram.ts";

/** The histogram's series with their names and colors, the largest at the bottom and the rest on top. */
export function seriesOf(
  { series }: Histogram,
  split: Split,
  colors: ReadonlyMap<string, number>,
): (TimeSeries & { total: number })[] {
  return series.map(({ value, total, counts }) => ({
    // A value may be any text, also that of the rest's key.
    key: value === null ? "rest" : `=${value}`,
    name: value === null ? restName(split) : value || "(empty)",
    color: value === null ? (split === "" ? 0 : "rest") : (colors.get(value) ?? "rest"),
    total,
    values: counts,
  }));
}

function restName(split: Split): string {
  if (split === "") return "Events";
  return split.startsWith("tag.") ? `Others, or without ${split.slice("tag.".length)}` : "Others";
}
