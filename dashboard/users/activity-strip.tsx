import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { Skeleton } from "../components/ui/states.tsx";
import { wallAt } from "../components/zone.ts";
import { shadeOf } from "./activity-days.ts";
import { type ActivityFilter, activityQuery } from "./users.ts";

/** For each result of `shadeOf`. */
const shades = ["bg-pressed", "bg-accent/30", "bg-accent/50", "bg-accent/75", "bg-accent"];

const columns = "grid grid-flow-col gap-[3px] [grid-auto-columns:minmax(0,14px)]";

/** A square for each day of half a year: a column is a week from Monday to Sunday. */
export function ActivityStrip({ project, filter }: { project: string; filter: ActivityFilter }) {
  const { data: days, error } = useQuery(activityQuery(project, filter));
  if (error && !days) return null;
  if (!days) return <Skeleton className="h-26" />;
  const most = Math.max(1, ...days.map(({ events }) => events));
  const active = days.filter(({ events }) => events > 0);
  const weeks = days.filter((_, index) => index % 7 === 0);
  const total = active.reduce((sum, { events }) => sum + events, 0);
  const summary = `${countOf(total, "event")} on ${countOf(active.length, "day")} in the last 26 weeks`;
  return (
    <section aria-label="Activity">
      <h2 className="mb-2 flex flex-wrap items-baseline gap-x-2 font-semibold text-sm">
        Activity
        <span className="font-normal text-muted text-xs">{summary}</span>
      </h2>
      <div aria-hidden className={clsx(columns, "h-4 text-2xs text-faint")}>
        {weeks.map(({ start }) => (
          // Above the first Monday of a month.
          <span key={start} className="whitespace-nowrap">
            {wallAt(Date.parse(start)).getUTCDate() <= 7 && formatDate(start, "month")}
          </span>
        ))}
      </div>
      <div role="img" aria-label={summary} className={clsx(columns, "grid-rows-7")}>
        {days.map(({ start, events }) => (
          <span
            key={start}
            title={`${countOf(events, "event")} on ${formatDate(start, "weekday")}`}
            className={clsx("aspect-square rounded-[3px]", shades[shadeOf(events, most)])}
          />
        ))}
      </div>
    </section>
  );
}
