import { type ChartMark, marksByName } from "./chart-marks.ts";
import type { TimeSeries } from "./plot.ts";

type Bucket = {
  /** Its time. */
  title: string;
  series: readonly Pick<TimeSeries, "name" | "values">[];
  /** Its place among the buckets. */
  bucket: number;
  total: number | null | undefined;
  marks: readonly ChartMark[];
  format: (value: number) => string;
  /** Enter leads on. */
  isPickable: boolean;
};

const marksMax = 5;

/** A bucket as screen readers say it: its time, the values, and what is marked in it. */
export function bucketText({ title, series, bucket, total, marks, format, isPickable }: Bucket): string {
  const values = series.map(({ name, values }) => `${name} ${format(values[bucket] ?? 0)}`);
  if (typeof total === "number") values.push(`total ${format(total)}`);
  const named = marksByName(marks)
    .slice(0, marksMax)
    .map(({ name, count }) => (count === 1 ? name : `${name}, ${count} times`));
  const more = new Set(marks.map(({ name }) => name)).size - named.length;
  if (more > 0) named.push(`${more} more`);
  return [
    `${title}: ${values.join(", ")}`,
    ...(named.length > 0 ? [`Marked: ${named.join(", ")}`] : []),
    ...(isPickable ? ["Enter shows what is counted"] : []),
  ].join(". ");
}
