import { Link } from "@tanstack/react-router";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { AlertState } from "../alerts/alert-state.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { useTileSource } from "./boards.ts";
import { TileScroll } from "./tile-scroll.tsx";

/** The open alerts of the project, the newest first. */
export function AlertsBody({ data, title }: { data: TileDataOf<"alerts">; title: string }) {
  const { project } = useTileSource();
  const { open, alerts } = data;
  if (open === 0) return <p className="tile-empty">Nothing is wrong.</p>;
  return (
    <TileScroll className="tile-scroll tile-rows tile-feed" label={`List of ${title}`}>
      <ul>
        {alerts.map(({ id, state, title, openedAt, acknowledgedBy = null }) => (
          <li key={id} className="tile-event">
            <AlertState state={state} />
            <span className="hostile-line flex-1">
              {project === null ? (
                title
              ) : (
                <Link
                  to="/p/$project/alerts"
                  params={{ project }}
                  search={{ alert: id }}
                  className="hover:underline"
                >
                  {title}
                </Link>
              )}
              {acknowledgedBy !== null && <span className="text-faint text-xs"> {acknowledgedBy}</span>}
            </span>
            <RelativeTime at={openedAt} className="shrink-0 text-faint text-xs" />
          </li>
        ))}
        {open > alerts.length && (
          <li className="tile-event text-faint text-xs">and {open - alerts.length} more</li>
        )}
      </ul>
    </TileScroll>
  );
}
