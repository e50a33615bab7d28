import { formatNumber } from "../components/locale.ts";
import { bucketLabel, soFar } from "./labels.ts";
import type { TimeSeries } from "./plot.ts";

type TimeTableProps = {
  caption: string;
  starts: readonly number[];
  endMs: number;
  series: readonly Pick<TimeSeries, "key" | "name" | "values">[];
  format?: (value: number) => string;
  /** The last bucket isn't over. */
  isLastPartial?: boolean;
};

/** A chart's values as a table, newest first, without the buckets in which nothing happened. */
export function TimeTable({
  caption,
  starts,
  endMs,
  series,
  format = formatNumber,
  isLastPartial = false,
}: TimeTableProps) {
  const labelOf = (start: number, end: number, index: number) => {
    const label = bucketLabel(start, end);
    return isLastPartial && index === starts.length - 1 ? soFar(label) : label;
  };
  const rows = starts
    .map((start, index) => ({ start, end: starts[index + 1] ?? endMs, index }))
    .filter(({ index }) => series.some(({ values }) => values[index]))
    .reverse();
  return (
    <table className="w-full border-collapse text-sm">
      <caption className="pb-1 text-left text-faint text-xs">{caption}</caption>
      <thead>
        <tr className="border-line border-b text-left text-faint text-xs">
          <th scope="col" className="py-1 pr-4 font-medium">
            Time
          </th>
          {series.map(({ key, name }) => (
            <th key={key} scope="col" className="hostile-line max-w-40 py-1 pl-4 text-right font-medium">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ start, end, index }) => (
          <tr key={start} className="border-line border-b">
            <th scope="row" className="whitespace-nowrap py-1 pr-4 text-left font-normal">
              {labelOf(start, end, index)}
            </th>
            {series.map(({ key, values }) => (
              <td key={key} className="py-1 pl-4 text-right">
                {format(values[index] ?? 0)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
