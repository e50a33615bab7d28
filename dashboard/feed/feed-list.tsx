import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp } from "lucide-react";
import { type PointerEvent, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { errorMessage } from "../api.ts";
import { channelsQuery } from "../channels/channels.ts";
import { useMarkShown } from "../channels/unread.ts";
import { dayLabel } from "../components/dates.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { EventRow } from "./event-row.tsx";
import { FeedSkeleton } from "./feed-skeleton.tsx";
import type { FeedState } from "./feed-store.ts";
import type { Filters } from "./filters.ts";
import { heightOf, toRows } from "./rows.ts";
import type { CachedFeed } from "./use-feed.ts";
import { useFeedKeys } from "./use-feed-keys.ts";
import { useRowLayout } from "./use-row-layout.ts";

type FeedListProps = {
  cached: CachedFeed;
  state: FeedState;
  project: string;
  filters: Filters;
  openId: string | undefined;
  label: string;
  addFilter: (key: string, value: string) => void;
};

/** A pointer that rests on the list holds new events only this long. */
const pointerHoldMs = 30_000;
/** Scrolled further than this from the top, new events wait until the reader is back at the top. */
const holdAtPx = 48;
const loadOlderWithinRows = 20;

export function FeedList({ cached, state, project, filters, openId, label, addFilter }: FeedListProps) {
  const { feed } = cached;
  const scroller = useRef<HTMLDivElement>(null);
  const layout = useRowLayout(scroller);
  const narrow = layout.kind === "narrow";
  const rows = useMemo(() => toRows(state.entries), [state.entries]);
  const [activeId, setActiveId] = useState<string | null>();
  const active = useRef<string | null>(undefined);
  const choose = useCallback((id: string | null) => {
    active.current = id;
    setActiveId(id);
  }, []);

  const [initialOffset] = useState(() => scrollOf(cached));
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: useCallback((index: number) => heightOf(rows[index]!, narrow), [rows, narrow]),
    getItemKey: useCallback(
      (index: number) => {
        const row = rows[index]!;
        return row.kind === "day" ? row.day : row.entry.event.id;
      },
      [rows],
    ),
    overscan: 6,
    initialOffset,
  });
  // Row heights depend on the layout, so a new layout invalidates the measurements.
  // biome-ignore lint/correctness/useExhaustiveDependencies: row heights depend on it
  useEffect(() => virtual.measure(), [narrow, virtual]);

  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastShown >= rows.length - loadOlderWithinRows && state.older === "idle") void feed.loadOlder();
  }, [lastShown, rows.length, state.older, feed]);

  const { data: channels } = useQuery(channelsQuery(project));
  const showsAll = Object.keys(filters).length === 0 && state.held === 0 && !state.isStale;
  useMarkShown(project, channels, showsAll ? state.entries : [], rows[lastShown]);

  const scrollToTop = useCallback(() => {
    feed.showNew();
    choose(null);
    // Through the virtualizer, which may still be scrolling to another row.
    virtual.scrollToOffset(0);
  }, [feed, choose, virtual]);

  const onScroll = useCallback(() => {
    const { scrollTop } = scroller.current!;
    cached.scroll = { entry: historyEntry(), top: scrollTop };
    feed.hold("scrolled", scrollTop > holdAtPx);
  }, [cached, feed]);
  // Opening an event adds a history entry with the same scroll position.
  // biome-ignore lint/correctness/useExhaustiveDependencies: openId stands for the history entry
  useLayoutEffect(onScroll, [onScroll, openId]);
  const pointer = usePointerHold(cached);

  useFeedKeys({
    rows,
    active,
    choose,
    openId,
    project,
    filters,
    scrollToTop,
    // Keep the day heading above the first event visible.
    show: (index) =>
      index <= 1 ? virtual.scrollToOffset(0) : virtual.scrollToIndex(index, { align: "auto" }),
    scroller,
  });

  // The one row that Tab reaches: the chosen one, or the first rendered one.
  const rendered = items.flatMap(({ index }) => {
    const row = rows[index];
    return row?.kind === "event" ? [row.entry.event.id] : [];
  });
  const tabStop = activeId && rendered.includes(activeId) ? activeId : rendered[0];

  return (
    <div className="relative min-h-0 flex-1" {...pointer}>
      <NewPill count={state.held} isStale={state.isStale} onClick={scrollToTop} />
      <div
        ref={scroller}
        className="h-full overflow-y-auto overflow-x-hidden [overflow-anchor:none]"
        onScroll={onScroll}
      >
        <div
          role="feed"
          aria-label={label}
          aria-busy={state.older === "loading"}
          className="relative"
          style={{ height: virtual.getTotalSize() }}
        >
          {items.map(({ key, index, start, size }) => {
            const row = rows[index];
            if (!row) return null;
            const style = { transform: `translateY(${start}px)`, height: size };
            if (row.kind === "day") {
              return (
                <div
                  key={key}
                  aria-hidden
                  style={style}
                  className="absolute inset-x-0 top-0 flex items-end border-line border-b px-4 pb-1.5 font-medium text-faint text-xs md:px-5"
                >
                  {dayLabel(row.at)}
                </div>
              );
            }
            const { id } = row.entry.event;
            return (
              <div key={key} style={style} className="absolute inset-x-0 top-0">
                <ErrorBoundary resetKey={row.entry} fallback={() => <BrokenRow />}>
                  <EventRow
                    entry={row.entry}
                    project={project}
                    filters={filters}
                    position={row.index + 1}
                    open={id === openId}
                    active={id === tabStop}
                    layout={layout}
                    addFilter={addFilter}
                    onFocus={choose}
                  />
                </ErrorBoundary>
              </div>
            );
          })}
        </div>
        <ListFooter
          state={state}
          loadOlder={feed.loadOlder}
          hasStart={filters.from !== undefined || filters.range !== undefined}
        />
      </div>
    </div>
  );
}

function BrokenRow() {
  return (
    <p className="h-full border-line border-b px-5 py-4 text-muted text-sm">This event can't be shown.</p>
  );
}

/** The key of the current history entry, which is the same again after going back. */
function historyEntry(): string {
  return history.state?.__TSR_key ?? "";
}

function scrollOf({ scroll }: CachedFeed): number {
  return scroll?.entry === historyEntry() ? scroll.top : 0;
}

/** While the pointer moves over the list, rows don't move, so that a click hits the intended row. */
function usePointerHold({ feed }: CachedFeed) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const release = useCallback(() => {
    clearTimeout(timer.current);
    feed.hold("pointer", false);
  }, [feed]);
  useEffect(() => release, [release]);
  return {
    onPointerMove({ pointerType }: PointerEvent) {
      if (pointerType === "touch") return;
      clearTimeout(timer.current);
      timer.current = setTimeout(release, pointerHoldMs);
      feed.hold("pointer", true);
    },
    onPointerLeave: release,
  };
}

function NewPill({ count, isStale, onClick }: { count: number; isStale: boolean; onClick: () => void }) {
  return (
    <div aria-live="polite" className="pointer-events-none absolute inset-x-0 top-3 z-20 flex justify-center">
      {(count > 0 || isStale) && (
        <button
          type="button"
          onClick={onClick}
          className="pointer-events-auto flex h-8 animate-rise items-center gap-1.5 rounded-full bg-accent px-3.5 font-medium text-on-accent text-sm shadow-md"
        >
          <ArrowUp aria-hidden className="size-3.5" />
          {isStale ? "New events" : `${formatNumber(count)} new`}
        </button>
      )}
    </div>
  );
}

type ListFooterProps = { state: FeedState; loadOlder: () => void; hasStart: boolean };

function ListFooter({ state, loadOlder, hasStart }: ListFooterProps) {
  if (state.older === "loading") return <FeedSkeleton rows={2} />;
  if (state.older === "error") {
    return (
      <div role="alert" className="flex items-center justify-center gap-3 p-6 text-muted text-sm">
        {errorMessage(state.olderError)}
        <Button onClick={loadOlder}>Retry</Button>
      </div>
    );
  }
  if (state.older !== "end") return <div className="h-16" />;
  return (
    <p className="p-6 text-center text-faint text-xs">
      {hasStart ? "That's the first event of this time." : "You've reached the first event."}
    </p>
  );
}
