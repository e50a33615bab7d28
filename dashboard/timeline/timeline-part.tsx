import { ChartColumn } from "lucide-react";
import { Suspense, useCallback, useState } from "react";
import { useMe } from "../account/me.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { loadChoice, saveChoice } from "../storage.ts";
import type { TimelineProps } from "./timeline.tsx";

const Timeline = lazyPart<TimelineProps>(async () => (await import("./timeline.tsx")).Timeline);

type TimelinePartProps = Omit<TimelineProps, "isOpen" | "setOpen"> & {
  /** False until the first page is drawn: the feed doesn't wait for its chart. */
  isReady: boolean;
};

/** The place above the feed for its time and its histogram: as high as they will be, so that nothing moves. */
export function TimelinePart({ isReady, ...props }: TimelinePartProps) {
  const [isOpen, setOpen] = useTimelineOpen();
  const placeholder = <Placeholder isOpen={isOpen} />;
  // Other filters load another page, but this part stays.
  const [wasReady, setWasReady] = useState(isReady);
  if (isReady && !wasReady) setWasReady(true);
  if (!wasReady) return placeholder;
  return (
    <ErrorBoundary
      resetKey={props.filters}
      fallback={(_, retry) => (
        <button
          type="button"
          onClick={retry}
          className="flex h-10 shrink-0 items-center gap-2 border-line border-b px-4 text-muted text-sm hover:text-ink md:h-9 md:px-5"
        >
          <ChartColumn aria-hidden className="size-4 text-faint" />
          The histogram couldn't be loaded. Retry
        </button>
      )}
    >
      <Suspense fallback={placeholder}>
        <Timeline {...props} isOpen={isOpen} setOpen={setOpen} />
      </Suspense>
    </ErrorBoundary>
  );
}

function Placeholder({ isOpen }: { isOpen: boolean }) {
  return (
    <div aria-hidden className="shrink-0 border-line border-b">
      <div className="h-10 md:h-9" />
      {isOpen && <div className="h-40 md:h-27" />}
    </div>
  );
}

/** Whether the histogram is shown: each person's choice on this device. At first, it is on large screens. */
function useTimelineOpen(): [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const key = `histogram.${useMe().account.id}`;
  const [isOpen, set] = useState(() => {
    const choice = loadChoice(key);
    return choice === null ? innerWidth >= 768 && innerHeight >= 600 : choice === "open";
  });
  const setOpen = useCallback(
    (next: boolean) => {
      saveChoice(key, next ? "open" : "closed");
      set(next);
    },
    [key],
  );
  return [isOpen, setOpen];
}
