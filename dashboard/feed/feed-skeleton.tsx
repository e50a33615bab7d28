import { Skeleton } from "../components/ui/states.tsx";

/** Rows as high as the feed's, so that nothing shifts when the events load. */
export function FeedSkeleton({ rows = 12 }: { rows?: number }) {
  return (
    <div aria-hidden className="overflow-hidden">
      {Array.from({ length: rows }, (_, row) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
          key={row}
          className="flex h-13 items-center gap-3 border-line border-b px-4 md:px-5"
        >
          <Skeleton className="size-8 rounded-lg" />
          <div className="flex flex-1 flex-col gap-2">
            <Skeleton className="h-3 w-44" />
            <Skeleton className="h-2.5 w-28" />
          </div>
          <Skeleton className="h-3 w-8" />
        </div>
      ))}
    </div>
  );
}
