import { ArrowUp } from "lucide-react";
import { useMemo } from "react";
import { formatNumber } from "../components/locale.ts";
import type { Filters } from "../feed/filters.ts";
import { useMatchCount } from "../feed/use-match-count.ts";
import { timeIn, withoutTime } from "../time-range/time-range.ts";

type NewerProps = { project: string; filters: Filters; showNow: () => void };

/** Shown after a jump to a date: the number of newer events, and the way back to them. */
export function Newer({ project, filters, showNow }: NewerProps) {
  const { from, to } = timeIn(filters);
  const isJump = to !== undefined && from === undefined && Date.parse(to) < Date.now();
  const newer = useMemo(() => ({ ...withoutTime(filters), from: to ?? "" }), [filters, to]);
  const count = useMatchCount(project, newer, isJump);
  if (!isJump) return null;
  return (
    <button
      type="button"
      onClick={showNow}
      className="flex h-7 shrink-0 animate-rise items-center gap-1 rounded-full bg-accent px-2.5 font-medium text-on-accent text-xs max-md:h-8"
    >
      <ArrowUp aria-hidden className="size-3.5" />
      {count ? `${formatNumber(count)} newer` : "Back to now"}
    </button>
  );
}
