import { Download } from "lucide-react";
import { Suspense, useState, useSyncExternalStore } from "react";
import { countOf } from "../components/counts.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { currentExport, sizeOf, subscribeExport } from "./export-events.ts";
import type { ExportMenuProps } from "./export-menu.tsx";
import type { Filters } from "./filters.ts";
import { useMatchCount } from "./use-match-count.ts";

const ExportMenu = lazyPart<ExportMenuProps>(async () => (await import("./export-menu.tsx")).ExportMenu);

export type FeedToolsProps = { project: string; filters: Filters; isReady: boolean };

/** The number of events that match the filters, and a menu that exports them. */
export function FeedTools({ project, filters, isReady }: FeedToolsProps) {
  const isFiltered = Object.keys(filters).length > 0;
  const count = useMatchCount(project, filters, isReady && isFiltered);
  const running = useSyncExternalStore(subscribeExport, currentExport);
  const matches = count === undefined ? null : countOf(count, "match", "matches");
  return (
    <div className="ml-auto flex shrink-0 items-center gap-1.5 text-sm">
      {isFiltered && matches !== null && <span className="px-1 text-muted tabular-nums">{matches}</span>}
      {running ? (
        <span className="flex items-center gap-1 text-muted">
          <span className="tabular-nums">Exporting… {sizeOf(running.bytes)}</span>
          <button type="button" onClick={running.cancel} className={toolClass}>
            Cancel
          </button>
        </span>
      ) : (
        <ExportButton
          project={project}
          filters={filters}
          label={isFiltered ? `Export ${matches ?? "all matches"}` : "Export all events"}
        />
      )}
    </div>
  );
}

const toolClass =
  "flex h-7 items-center gap-1.5 rounded-md px-2 text-muted hover:bg-hover hover:text-ink max-md:h-10 max-md:px-3";

function ExportButton(props: Omit<ExportMenuProps, "trigger">) {
  const [isOpened, setOpened] = useState(false);
  const button = (more: { onClick?: () => void }) => (
    <button type="button" aria-label="Export" aria-haspopup="menu" className={toolClass} {...more}>
      <Download aria-hidden className="size-3.5 max-md:size-4" />
      <span className="max-md:hidden">Export</span>
    </button>
  );
  if (!isOpened) return button({ onClick: () => setOpened(true) });
  return (
    <Suspense fallback={button({})}>
      <ExportMenu {...props} trigger={button({})} />
    </Suspense>
  );
}
