import { useQuery } from "@tanstack/react-query";
import { ArrowUp } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import type { Stats } from "../../server/wire/stats.ts";
import { api } from "../api.ts";
import { type Filters, matcherOf } from "../feed/filters.ts";
import { listen } from "../live/connection.ts";
import { timeIn, withoutTime } from "../time-range/time-range.ts";

type NewerProps = { project: string; filters: Filters; showNow: () => void };

/** After a jump to a date: how many events are newer than what is shown, and the way back to them. */
export function Newer({ project, filters, showNow }: NewerProps) {
  const { from, to } = timeIn(filters);
  if (to === undefined || from !== undefined || Date.parse(to) >= Date.now()) return null;
  return <NewerThan project={project} filters={filters} to={to} showNow={showNow} />;
}

function NewerThan({ project, filters, to, showNow }: NewerProps & { to: string }) {
  const others = useMemo(() => withoutTime(filters), [filters]);
  const from = new Date(to).toISOString();
  const { data } = useQuery({
    queryKey: ["newer", project, others, from],
    queryFn: async ({ signal }) => {
      const { total } = await api<Stats>("/api/stats", {
        query: { project, ...others, from, by: "week" },
        signal,
      });
      setArrived(0);
      return total;
    },
    refetchInterval: 60_000,
  });
  const [arrived, setArrived] = useState(0);
  useEffect(() => {
    const matches = matcherOf({ ...others, from });
    return listen(project, {
      events: (batch) => setArrived((count) => count + batch.filter(matches).length),
    });
  }, [project, others, from]);
  const count = data === undefined ? 0 : data + arrived;
  return (
    <button
      type="button"
      onClick={showNow}
      className="flex h-7 shrink-0 animate-rise items-center gap-1 rounded-full bg-accent px-2.5 font-medium text-on-accent text-xs max-md:h-8"
    >
      <ArrowUp aria-hidden className="size-3.5" />
      {count > 0 ? `${count.toLocaleString("en")} newer` : "Back to now"}
    </button>
  );
}
