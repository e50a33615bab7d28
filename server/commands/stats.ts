import { defineCommand } from "citty";
import type { Stats } from "../schemas/stats.ts";
import { countOf, filterArgs, filterQuery } from "./filter-args.ts";
import { onOneLine, printLine } from "./output.ts";
import { sourceArgs, withSource } from "./source.ts";
import { printTable } from "./table.ts";

const bars = "▁▂▃▄▅▆▇█";

export const statsCommand = defineCommand({
  meta: { name: "stats", description: "Count events over time" },
  args: {
    ...filterArgs,
    by: {
      type: "enum",
      options: ["minute", "hour", "day", "week", "month"],
      default: "day",
      description: "Size of a bar",
    },
    split: {
      type: "string",
      description: "A line for each channel, name, tag.KEY, user.KEY or group.TYPE",
      valueHint: "S",
    },
    limit: { type: "string", default: "10", description: "With --split: number of lines", valueHint: "N" },
    "time-zone": {
      type: "string",
      description: "Time zone of the bars (default: this machine's)",
      valueHint: "Z",
    },
    json: { type: "boolean", description: "Print JSON" },
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const query = filterQuery(args);
      query.set("by", args.by);
      query.set("timeZone", args["time-zone"] ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
      if (args.split !== undefined) {
        query.set("split", args.split);
        query.set("limit", String(countOf("--limit", args.limit)));
      }
      const stats = await source.json<Stats>(`/api/stats?${query}`);
      if (args.json) return printLine(JSON.stringify(stats));
      const rest = args.split === undefined ? "all events" : "(others)";
      printTable([
        [args.split?.toUpperCase() ?? "", "EVENTS", `BY ${args.by.toUpperCase()}`],
        ...stats.series.map(({ value, name, total, counts }) => [
          value === null ? rest : onOneLine(name ?? value),
          total.toLocaleString("en"),
          sparkline(counts),
        ]),
      ]);
      const { from, to, timeZone } = stats;
      await printLine(`${timeIn(timeZone, from)} to ${timeIn(timeZone, to)} (${timeZone})`);
    }),
});

/** A time to the minute, such as 2030-01-31 09:30: Swedish dates are ISO dates. */
function timeIn(timeZone: string, iso: string): string {
  return new Date(iso).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
}

/** A bar for each count, the highest one for the largest; a space for none. */
export function sparkline(counts: number[]): string {
  const most = Math.max(...counts, 1);
  return counts
    .map((count) => (count === 0 ? " " : bars[Math.ceil((count / most) * bars.length) - 1]))
    .join("");
}
