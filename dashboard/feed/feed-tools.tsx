import { Link } from "@tanstack/react-router";
import { UserRound } from "lucide-react";
import { type ComponentType, Suspense, useState, useSyncExternalStore } from "react";
import { countOf } from "../components/counts.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { sizeOf } from "../components/size.ts";
import { SaveView } from "../views/save-view.tsx";
import { addressOf } from "../who/question.ts";
import { currentExport, subscribeExport } from "./export-events.ts";
import type { ExportMenuProps } from "./export-menu.tsx";
import type { Filters } from "./filters.ts";
import { useMatchCount } from "./use-match-count.ts";

const ExportMenu = lazyPart<ExportMenuProps>(async () => (await import("./export-menu.tsx")).ExportMenu);

export type FeedToolsProps = {
  project: string;
  filters: Filters;
  isReady: boolean;
  /** The button that opens the menu. */
  button: ComponentType<{ onClick?: () => void }>;
  /** The button was clicked before this part was loaded. */
  opensExport: boolean;
};

/** The number of events that match the filters, and actions on them. */
export function FeedTools({ project, filters, isReady, button: Button, opensExport }: FeedToolsProps) {
  const [isOpened, setOpened] = useState(opensExport);
  const isFiltered = Object.keys(filters).length > 0;
  const count = useMatchCount(project, filters, isReady && isFiltered);
  const running = useSyncExternalStore(subscribeExport, currentExport);
  // The menu is replaced by the progress, and must not be open when it comes back.
  if (running && isOpened) setOpened(false);
  const matches = count === undefined ? null : countOf(count, "match", "matches");
  return (
    <div className="ml-auto flex shrink-0 items-center gap-1.5 text-sm">
      <SaveView project={project} />
      {isFiltered && matches !== null && <span className="px-1 text-muted tabular-nums">{matches}</span>}
      {isFiltered && (
        <Link
          to="/p/$project/who"
          params={{ project }}
          search={addressOf({ of: "events", filters })}
          preload={false}
          title="The users of these events"
          className="flex h-7 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-hover hover:text-ink max-md:h-10"
        >
          <UserRound aria-hidden className="size-3.5" />
          Users
        </Link>
      )}
      {running ? (
        <span className="flex items-center gap-1 text-muted">
          <span className="tabular-nums">Exporting… {sizeOf(running.bytes)}</span>
          <button
            type="button"
            onClick={running.cancel}
            className="h-7 rounded-md px-2 hover:bg-hover hover:text-ink max-md:h-10"
          >
            Cancel
          </button>
        </span>
      ) : (
        <Suspense fallback={<Button />}>
          {isOpened ? (
            <ExportMenu
              project={project}
              filters={filters}
              label={isFiltered ? `Export ${matches ?? "all matches"}` : "Export all events"}
              trigger={<Button />}
            />
          ) : (
            <Button onClick={() => setOpened(true)} />
          )}
        </Suspense>
      )}
    </div>
  );
}
