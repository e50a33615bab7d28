import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { clsx } from "clsx";
import { ArrowUp, Play } from "lucide-react";
import { type PointerEvent, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { errorMessage } from "../api.ts";
import { suggestedColor } from "../channels/channel-colors.ts";
import { channelsQuery } from "../channels/channels.ts";
import { useFirstTags } from "../channels/first-tags.ts";
import { useMarkShown } from "../channels/unread.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { dayLabel } from "../components/dates.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { useDisplay } from "./display.ts";
import type { FeedEntry } from "./entries.ts";
import { EventRow } from "./event-row.tsx";
import { FeedSkeleton } from "./feed-skeleton.tsx";
import type { FeedState } from "./feed-store.ts";
import { type Filters, type PickFilter, splitIn } from "./filters.ts";
import { heightOf, keyOf, toggled, toRows } from "./rows.ts";
import { RunRow } from "./run-row.tsx";
import type { CachedFeed } from "./use-feed.ts";
import { useFeedKeys } from "./use-feed-keys.ts";
import { useRowLayout } from "./use-row-layout.ts";

type FeedListProps = {
  cached: CachedFeed;
  state: FeedState;
  /** Another feed is loading, which will take its place. */
  isStale: boolean;
  project: string;
  filters: Filters;
  /** The histogram's split, which links to events keep. */
  split: string | undefined;
  openId: string | undefined;
  label: string;
  pick: PickFilter;
};

/** A pointer that rests on the list holds new events only this long. */
const pointerHoldMs = 30_000;
/** Scrolled further than this from the top, new events wait until the reader is back at the top. */
const holdAtPx = 48;
const loadOlderWithinRows = 20;
/**
 * With more events than this, and ten to a row, older ones are loaded by a click: the rows may not even fill the
 * screen, and a million events of one kind would be loaded.
 */
const foldedMax = 1_000;
const eventsPerRow = 10;

export function FeedList({
  cached,
  state,
  isStale,
  project,
  filters,
  split,
  openId,
  label,
  pick,
}: FeedListProps) {
  const { feed } = cached;
  const search = useMemo(() => ({ ...filters, ...splitIn({ split }) }), [filters, split]);
  const scroller = useRef<HTMLDivElement>(null);
  const { isCompact, folds } = useDisplay();
  const layout = useRowLayout(scroller, isCompact);
  const isNarrow = layout.kind === "narrow";
  const [unfolded, setUnfolded] = useState(cached.unfolded);
  // A filter by one name asks for its events.
  const isFolding = folds && filters.name === undefined;
  const rows = useMemo(
    () => toRows(state.entries, isFolding ? unfolded : null),
    [state.entries, unfolded, isFolding],
  );
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
    estimateSize: useCallback(
      (index: number) => heightOf(rows[index]!, { isNarrow, isCompact }),
      [rows, isNarrow, isCompact],
    ),
    // Sizes are never measured, so numbers will do as keys. A new function makes the virtualizer compute all places anew,
    // in the same render.
    // biome-ignore lint/correctness/useExhaustiveDependencies: row heights depend on the layout
    getItemKey: useCallback((index: number) => index, [rows, isNarrow, isCompact]),
    overscan: 6,
    initialOffset,
  });

  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  const mustAsk = state.entries.length > Math.max(foldedMax, rows.length * eventsPerRow);
  useEffect(() => {
    if (mustAsk || lastShown < rows.length - loadOlderWithinRows) return;
    if (state.older === "idle") void feed.loadOlder();
  }, [mustAsk, lastShown, rows.length, state.older, feed]);

  const { data: channels } = useQuery(channelsQuery(project));
  const colors = useChannelColors(project);
  const firstTagsOf = useFirstTags(project);
  const markOf = ({ event: { channelId } }: FeedEntry) => colors.get(channelId) ?? suggestedColor(channelId);
  const showsAll = Object.keys(filters).length === 0 && state.held === 0 && !state.isStale;
  useMarkShown(project, channels, showsAll ? state.entries : [], rows[lastShown]?.shown ?? 0);

  const scrollToTop = useCallback(() => {
    feed.showNew();
    choose(null);
    scroller.current!.scrollTop = 0;
  }, [feed, choose]);

  const onScroll = useCallback(() => {
    const { scrollTop } = scroller.current!;
    cached.scroll = { entry: historyEntry(), top: scrollTop };
    feed.hold("scrolled", scrollTop > holdAtPx);
  }, [cached, feed]);
  // Opening an event adds a history entry with the same scroll position.
  // biome-ignore lint/correctness/useExhaustiveDependencies: openId stands for the history entry
  useLayoutEffect(() => {
    onScroll();
  }, [onScroll, openId]);
  const pointer = usePointerHold(cached);

  const current = useRef({ rows, entries: state.entries });
  useEffect(() => {
    current.current = { rows, entries: state.entries };
  });
  const toggle = useCallback(
    (key: string) => {
      const { rows, entries } = current.current;
      const row = rows.find((each) => keyOf(each) === key);
      if (row?.kind !== "run") return;
      cached.unfolded = toggled(cached.unfolded, row, entries, row.index);
      setUnfolded(cached.unfolded);
    },
    [cached],
  );

  useFeedKeys({
    rows,
    toggle,
    active,
    choose,
    openId,
    project,
    search,
    scrollToTop,
    show(index) {
      // Keep the day heading above the first event visible. All heights are known, so no second scroll corrects the
      // first, as the virtualizer's own would: it could undo what another key did meanwhile.
      scroller.current!.scrollTop = index <= 1 ? 0 : (virtual.getOffsetForIndex(index)?.[0] ?? 0);
    },
    scroller,
  });

  // The one row that Tab reaches: the chosen one, or the first rendered one.
  const rendered = items.flatMap(({ index }) => {
    const row = rows[index];
    return row && row.kind !== "day" ? [keyOf(row)] : [];
  });
  const tabStop = activeId && rendered.includes(activeId) ? activeId : rendered[0];

  return (
    <div className="relative min-h-0 flex-1" {...pointer}>
      <NewPill
        state={state}
        onClick={() => {
          feed.pause(false);
          scrollToTop();
        }}
      />
      <div
        ref={scroller}
        className="h-full overflow-y-auto overflow-x-hidden [overflow-anchor:none]"
        onScroll={onScroll}
      >
        <div
          role="feed"
          aria-label={label}
          aria-busy={isStale || state.older === "loading"}
          className={clsx("relative", isStale && "opacity-60")}
          style={{ height: virtual.getTotalSize() }}
        >
          {items.map(({ index, start, size }) => {
            const row = rows[index];
            if (!row) return null;
            const key = keyOf(row);
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
            return (
              <div key={key} style={style} className="absolute inset-x-0 top-0">
                {row.kind === "run" ? (
                  <ErrorBoundary resetKey={row.newest} fallback={() => <BrokenRow />}>
                    <RunRow
                      run={row}
                      mark={markOf(row.newest)}
                      position={row.index + 1}
                      active={row.key === tabStop}
                      layout={layout}
                      toggle={toggle}
                      onFocus={choose}
                    />
                  </ErrorBoundary>
                ) : (
                  <ErrorBoundary resetKey={row.entry} fallback={() => <BrokenRow />}>
                    <EventRow
                      entry={row.entry}
                      project={project}
                      search={search}
                      position={row.index + 1}
                      mark={markOf(row.entry)}
                      firstTags={firstTagsOf(row.entry.event.channelId)}
                      open={row.entry.event.id === openId}
                      active={row.entry.event.id === tabStop}
                      nested={row.run !== null}
                      layout={layout}
                      pick={pick}
                      onFocus={choose}
                    />
                  </ErrorBoundary>
                )}
              </div>
            );
          })}
        </div>
        <ListFooter
          state={state}
          mustAsk={mustAsk}
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

/** How many new events wait. In a paused feed it resumes. */
function NewPill({ state, onClick }: { state: FeedState; onClick: () => void }) {
  const { held, isStale, isPaused } = state;
  const Icon = isPaused ? Play : ArrowUp;
  const count = isStale ? "New events" : held > 0 ? `${formatNumber(held)} new` : "";
  return (
    <div aria-live="polite" className="pointer-events-none absolute inset-x-0 top-3 z-20 flex justify-center">
      {(count || isPaused) && (
        <button
          type="button"
          onClick={onClick}
          className={clsx(
            "pointer-events-auto flex h-8 animate-rise items-center gap-1.5 rounded-full px-3.5 font-medium text-sm shadow-md",
            isPaused
              ? "border border-line-strong bg-raised text-ink hover:bg-hover"
              : "bg-accent text-on-accent",
          )}
        >
          <Icon aria-hidden className="size-3.5" />
          {isPaused ? ["Feed paused", count].filter(Boolean).join(" · ") : count}
        </button>
      )}
    </div>
  );
}

type ListFooterProps = { state: FeedState; mustAsk: boolean; loadOlder: () => void; hasStart: boolean };

function ListFooter({ state, mustAsk, loadOlder, hasStart }: ListFooterProps) {
  if (state.older === "loading") return <FeedSkeleton rows={2} />;
  if (state.older === "error") {
    return (
      <div role="alert" className="flex items-center justify-center gap-3 p-6 text-muted text-sm">
        {errorMessage(state.olderError)}
        <Button onClick={loadOlder}>Retry</Button>
      </div>
    );
  }
  if (state.older !== "end" && mustAsk) {
    return (
      <div className="flex justify-center p-6">
        <Button onClick={loadOlder}>Load older events</Button>
      </div>
    );
  }
  if (state.older !== "end") return <div className="h-16" />;
  return (
    <p className="p-6 text-center text-faint text-xs">
      {hasStart ? "You've reached the first event in this time range." : "You've reached the first event."}
    </p>
  );
}
