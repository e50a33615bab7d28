import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { BoardSummary } from "../../server/schemas/board.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import type { useRange } from "./use-range.ts";

/** The project's boards, as links that keep the range. */
export function BoardTabs({
  boards,
  shown,
  search,
}: {
  boards: BoardSummary[];
  shown: string;
  search: ReturnType<typeof useRange>["search"];
}) {
  const project = useProjectSlug();
  return (
    <nav
      aria-label="Boards"
      className="flex max-h-29 min-w-0 max-w-full grow flex-wrap gap-1 overflow-y-auto max-md:min-h-10 max-md:basis-full"
    >
      {boards.map((each) => (
        <Link
          key={each.id}
          to="/p/$project/boards/$board"
          params={{ project, board: each.id }}
          search={search}
          aria-current={each.id === shown ? "page" : undefined}
          className={clsx(
            "flex h-8 max-w-48 shrink-0 items-center rounded-md px-2.5 text-sm focus-visible:outline-offset-[-2px] max-md:h-10",
            each.id === shown
              ? "bg-pressed font-medium text-ink"
              : "text-muted hover:bg-hover hover:text-ink",
          )}
        >
          <span className="hostile-line">{each.name}</span>
        </Link>
      ))}
    </nav>
  );
}
