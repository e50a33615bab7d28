import { useInfiniteQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useId } from "react";
import type { RejectedEvent, RejectedGroup } from "../../server/schemas/rejected-event.ts";
import { errorMessage } from "../api.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { rejectedQuery } from "./rejected.ts";
import { RejectedItem } from "./rejected-item.tsx";

type Props = {
  group: RejectedGroup;
  isOpen: boolean;
  toggle: () => void;
  fix: (rejected: RejectedEvent) => void;
  fixAll: () => void;
  discardAll: () => void;
};

/** Events that were rejected for the same reason; unfolded, with examples. */
export function RejectedGroupItem({ group, isOpen, toggle, fix, fixAll, discardAll }: Props) {
  const id = useId();
  const mayChange = useCan()("rejected:change");
  const { reason, key, count, fixable, lastAt } = group;
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex items-start gap-3 py-3 pr-4 pl-2 max-md:flex-col max-md:gap-2">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={toggle}
          className="flex min-w-0 flex-1 items-start gap-1.5 rounded-md py-1 text-left max-md:w-full"
        >
          <ChevronRight
            aria-hidden
            className={`mt-0.5 size-4 shrink-0 text-muted transition-transform ${isOpen ? "rotate-90" : ""}`}
          />
          <span className="min-w-0 flex-1">
            <span className="hostile block font-medium text-sm">
              {reason || "Rejected for another reason"}
            </span>
            <span className="hostile block text-muted text-xs">
              {key ? `key ${key.name || `…${key.ending}`}` : "sent by a member"}
              {" · last "}
              <RelativeTime at={lastAt} form="long" />
            </span>
          </span>
          <span className="shrink-0 rounded-full bg-danger-soft px-2 py-0.5 font-semibold text-danger text-xs">
            {formatNumber(count)}
            <span className="sr-only">{count === 1 ? " event" : " events"}</span>
          </span>
        </button>
        {mayChange && (
          <div className="flex shrink-0 gap-2 max-md:pl-5.5">
            {fixable > 0 && <Button onClick={fixAll}>Fix and resend…</Button>}
            <Button variant="ghost" onClick={discardAll}>
              Discard…
            </Button>
          </div>
        )}
      </div>
      {isOpen && mayChange && fixable === 0 && (
        <p className="border-line border-t px-4 py-3 text-muted text-sm">
          These events can't be fixed together, because they aren't JSON or were too long to keep in full.
          Correct what sends them. To resend one of them, edit it.
        </p>
      )}
      {isOpen && <Examples id={id} group={group} fix={fix} />}
    </li>
  );
}

function Examples({ id, group, fix }: { id: string } & Pick<Props, "group" | "fix">) {
  const project = useProjectSlug();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    rejectedQuery(project, group),
  );
  return (
    <div id={id} className="border-line border-t bg-surface">
      {error && !data ? (
        <div role="alert" className="flex items-center justify-between gap-3 p-4 text-muted text-sm">
          {errorMessage(error)}
          <Button onClick={() => void refetch()}>Retry</Button>
        </div>
      ) : !data ? (
        <Skeleton className="m-4 h-20" />
      ) : (
        <ul>
          {data.pages
            .flatMap((page) => page.rejected)
            .map((rejected) => (
              <RejectedItem key={rejected.id} rejected={rejected} fix={fix} />
            ))}
        </ul>
      )}
      {hasNextPage && (
        <div className="flex justify-center border-line border-t p-3">
          <Button variant="ghost" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show older
          </Button>
        </div>
      )}
    </div>
  );
}
