import { clsx } from "clsx";
import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { ChannelMark } from "../components/channel-mark.tsx";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { usualLead } from "./chip-widths.ts";
import type { Run } from "./rows.ts";
import { type RowLayout, rowClass } from "./use-row-layout.ts";

type RunRowProps = {
  run: Run;
  position: number;
  /** The color of its channel. */
  mark: number;
  active: boolean;
  layout: RowLayout;
  toggle: (key: string) => void;
  onFocus: (key: string) => void;
};

/** A run of the same event, which unfolds in place. */
export const RunRow = memo(function RunRow({
  run,
  position,
  mark,
  active,
  layout,
  toggle,
  onFocus,
}: RunRowProps) {
  const { key, newest, oldest, count, isOpen } = run;
  const { event } = newest;
  const times = [...new Set([oldest, newest].map(({ at }) => formatDate(at, "clock")))].join(" – ");
  const time = (
    <RelativeTime
      at={newest.at}
      form="clock"
      className="relative ml-auto shrink-0 whitespace-nowrap pl-2 text-right text-faint text-xs"
    />
  );
  return (
    <article
      aria-posinset={position}
      aria-setsize={-1}
      aria-labelledby={`name-${key}`}
      data-row={key}
      tabIndex={active ? 0 : -1}
      onFocus={() => onFocus(key)}
      className={rowClass(layout, "hover:bg-hover")}
    >
      <span className="relative">
        <EventIcon icon={event.icon} name={event.name} size={layout.isCompact ? "sm" : "md"} />
      </span>
      <div
        className={clsx(
          "min-w-0",
          layout.isLine && "flex items-center gap-3",
          layout.kind === "narrow" && "flex-1",
        )}
        style={layout.kind === "wide" ? { minWidth: usualLead(layout.textPx) } : undefined}
      >
        <div className="flex min-w-0 items-center gap-2">
          <button
            id={`name-${key}`}
            type="button"
            aria-expanded={isOpen}
            // The row itself takes keyboard focus; the button covers it for pointers.
            tabIndex={-1}
            onClick={() => toggle(key)}
            className="flex min-w-0 items-center gap-2 text-left font-medium after:absolute after:inset-0 after:content-['']"
          >
            <span className="hostile-line">{event.name}</span>
            <span
              title={countOf(count, "event")}
              className="shrink-0 rounded bg-pressed px-1.5 text-2xs text-ink"
            >
              × {formatNumber(count)}
            </span>
            <ChevronRight
              aria-hidden
              className={clsx("size-3.5 shrink-0 text-faint transition-transform", isOpen && "rotate-90")}
            />
          </button>
          {layout.kind === "narrow" && time}
        </div>
        <div className="flex h-4 min-w-0 items-center gap-1.5 text-muted text-xs">
          <ChannelMark color={mark} />
          <span className="hostile-line">{event.channelId}</span>
          {layout.kind === "narrow" && <span className="ml-auto shrink-0 pl-2 text-faint">{times}</span>}
        </div>
      </div>
      {layout.kind === "wide" && (
        <>
          <span className="shrink-0 text-faint text-xs">{times}</span>
          {time}
        </>
      )}
    </article>
  );
});
