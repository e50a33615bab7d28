import { Link } from "@tanstack/react-router";
import type { TileDataOf } from "../../server/wire/tile-data.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { useTileSource } from "./boards.ts";

/** The newest events, one in a line. */
export function FeedBody({ data, title }: { data: TileDataOf<"feed">; title: string }) {
  const { project } = useTileSource();
  if (data.events.length === 0) return <p className="tile-empty">No events in this period.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section className="tile-scroll tile-rows tile-feed" tabIndex={0} aria-label={`List of ${title}`}>
      <ul>
        {data.events.map(({ id, name, channelId, icon, createdAt, userId }) => (
          <li key={id} className="tile-event">
            <EventIcon icon={icon} name={name} size="sm" />
            <span className="hostile-line flex-1">
              {project === null ? (
                name
              ) : (
                <Link to="/p/$project/events/$id" params={{ project, id }} className="hover:underline">
                  {name}
                </Link>
              )}
              <span className="text-faint text-xs">
                {" "}
                {channelId}
                {userId && ` · ${userId}`}
              </span>
            </span>
            <RelativeTime at={createdAt} className="shrink-0 text-faint text-xs" />
          </li>
        ))}
      </ul>
    </section>
  );
}
