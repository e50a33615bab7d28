import { Link, useNavigate } from "@tanstack/react-router";
import { clsx } from "clsx";
import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { measured, rowWidths } from "../feed/chip-widths.ts";
import { isExcluding, type PickFilter, without } from "../feed/filters.ts";
import { TagChips } from "../feed/tag-chips.tsx";
import { useTileSource } from "./boards.ts";
import { TileScroll } from "./tile-scroll.tsx";

type FeedEvent = TileDataOf<"feed">["events"][number];

/** The width of a row that isn't for texts: icon, time and gaps. */
const gapPx = 8;
const asidePx = 24 + 44 + 3 * gapPx;
/** In narrower rows, tags would leave no room for the name. */
const tagsFromPx = 360;

/** The newest events, one in a line, with as many of their tags as there is room for. */
export function FeedBody({ data, title }: { data: TileDataOf<"feed">; title: string }) {
  if (data.events.length === 0) return <p className="tile-empty">No events in this period.</p>;
  return <FeedRows events={data.events} title={title} />;
}

function FeedRows({ events, title }: { events: readonly FeedEvent[]; title: string }) {
  const { project } = useTileSource();
  const list = useRef<HTMLElement>(null);
  const widthPx = useWidth(list);
  const navigate = useNavigate();

  const pick: PickFilter = (click, key, value) => {
    const search = isExcluding(click) ? without({}, key, value) : { [key]: value };
    void navigate({ to: "/p/$project", params: { project: project! }, search });
  };
  return (
    <TileScroll ref={list} className="tile-scroll tile-rows tile-feed" label={`List of ${title}`}>
      <ul>
        {events.map((event) => (
          <FeedRow key={event.id} event={event} project={project} textPx={widthPx - asidePx} pick={pick} />
        ))}
      </ul>
    </TileScroll>
  );
}

type FeedRowProps = { event: FeedEvent; project: string | null; textPx: number; pick: PickFilter };

function FeedRow({ event, project, textPx, pick }: FeedRowProps) {
  const { id, name, channelId, icon, createdAt, userId } = event;
  const tags = project === null || textPx < tagsFromPx ? [] : Object.entries(event.tags ?? {});
  const facts = ` ${channelId}${userId ? ` · ${userId}` : ""}`;
  const widths = rowWidths(textPx, measured(name, "13px") + measured(facts, "12px") + gapPx, tags);
  return (
    <li className="tile-event">
      <EventIcon icon={icon} name={name} size="sm" />
      <span
        className={clsx("hostile-line", tags.length === 0 ? "flex-1" : "shrink-0")}
        style={tags.length > 0 ? { minWidth: widths.leadMin, maxWidth: widths.leadMax } : undefined}
      >
        {project === null ? (
          name
        ) : (
          <Link to="/p/$project/events/$id" params={{ project, id }} className="hover:underline">
            {name}
          </Link>
        )}
        <span className="text-faint text-xs">{facts}</span>
      </span>
      {tags.length > 0 && <TagChips tags={tags} widthPx={widths.tags} pick={pick} />}
      <RelativeTime at={createdAt} className="shrink-0 text-faint text-xs" />
    </li>
  );
}

/** The width of an element in pixels, in steps, so that resizing renders seldom. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidth] = useState(0);
  useLayoutEffect(() => {
    const shown = element.current;
    if (!shown) return;
    const update = () => setWidth(Math.floor(shown.clientWidth / 16) * 16);
    update();
    const observer = new ResizeObserver(update);
    observer.observe(shown);
    return () => observer.disconnect();
  }, [element]);
  return widthPx;
}
