import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { sentence } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { EventRow } from "./event-row.tsx";
import { FeedSkeleton } from "./feed-skeleton.tsx";
import type { Feed, FeedState } from "./feed-store.ts";
import type { Filters } from "./filters.ts";
import { dayLabel, heightOf, toRows } from "./rows.ts";
import { useFeedKeys } from "./use-feed-keys.ts";
import { useRoom } from "./use-room.ts";

type FeedListProps = {
  feed: Feed;
  state: FeedState;
  project: string;
  filters: Filters;
  openId: string | undefined;
  label: string;
  addFilter: (key: string, value: string) => void;
};

/** Further from the top than this, new events wait; they come in again when the top is reached. */
const holdAtPx = 48;
const olderWithinRows = 20;

export function FeedList({ feed, state, project, filters, openId, label, addFilter }: FeedListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const room = useRoom(scroller);
  const narrow = room === "narrow";
  const rows = useMemo(() => toRows(state.entries), [state.entries]);
  const [activeId, setActiveId] = useState<string>();

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
  });
  // Heights changed with the width: what was worked out for the other ones is void.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the width is why they are void
  useEffect(() => virtual.measure(), [narrow, virtual]);

  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastShown >= rows.length - olderWithinRows && state.older === "idle") void feed.loadOlder();
  }, [lastShown, rows.length, state.older, feed]);

  const toTop = useCallback(() => {
    feed.hold(false);
    scroller.current?.scrollTo({ top: 0 });
  }, [feed]);

  useFeedKeys({
    rows,
    activeId,
    setActiveId,
    openId,
    project,
    filters,
    toTop,
    show: virtual.scrollToIndex,
    scroller,
  });

  // The one row that Tab reaches: the chosen one, or the first that is drawn.
  const drawn = items.flatMap(({ index }) => {
    const row = rows[index];
    return row?.kind === "event" ? [row.entry.event.id] : [];
  });
  const tabStop = activeId && drawn.includes(activeId) ? activeId : drawn[0];

  return (
    <div className="relative min-h-0 flex-1">
      <NewPill count={state.held} onClick={toTop} />
      <div
        ref={scroller}
        className="h-full overflow-y-auto overflow-x-hidden [overflow-anchor:none]"
        onScroll={(event) => feed.hold(event.currentTarget.scrollTop > holdAtPx)}
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
            const place = { transform: `translateY(${start}px)`, height: size };
            if (row.kind === "day") {
              return (
                <div
                  key={key}
                  aria-hidden
                  style={place}
                  className="absolute inset-x-0 top-0 flex items-end border-line border-b px-4 pb-1.5 font-medium text-faint text-xs md:px-5"
                >
                  {dayLabel(row.at)}
                </div>
              );
            }
            const { id } = row.entry.event;
            return (
              <div key={key} style={place} className="absolute inset-x-0 top-0">
                <EventRow
                  entry={row.entry}
                  project={project}
                  filters={filters}
                  position={row.index + 1}
                  open={id === openId}
                  active={id === tabStop}
                  room={room}
                  addFilter={addFilter}
                  onFocus={setActiveId}
                />
              </div>
            );
          })}
        </div>
        <Foot state={state} loadOlder={feed.loadOlder} />
      </div>
    </div>
  );
}

function NewPill({ count, onClick }: { count: number; onClick: () => void }) {
  return (
    <div aria-live="polite" className="pointer-events-none absolute inset-x-0 top-3 z-20 flex justify-center">
      {count > 0 && (
        <button
          type="button"
          onClick={onClick}
          className="pointer-events-auto flex h-8 animate-rise items-center gap-1.5 rounded-full bg-accent px-3.5 font-medium text-on-accent text-sm shadow-md"
        >
          <ArrowUp aria-hidden className="size-3.5" />
          {count.toLocaleString("en")} new
        </button>
      )}
    </div>
  );
}

function Foot({ state, loadOlder }: { state: FeedState; loadOlder: () => void }) {
  if (state.older === "loading") return <FeedSkeleton rows={2} />;
  if (state.older === "error") {
    return (
      <div role="alert" className="flex items-center justify-center gap-3 p-6 text-muted text-sm">
        {sentence(state.olderError)}
        <Button onClick={loadOlder}>Retry</Button>
      </div>
    );
  }
  if (state.older !== "end") return <div className="h-16" />;
  return <p className="p-6 text-center text-faint text-xs">That is where it began.</p>;
}
