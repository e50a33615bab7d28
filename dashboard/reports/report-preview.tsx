import { clsx } from "clsx";
import { useState } from "react";
import { Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import type { ReportForm } from "./report-form.ts";

/** The picture that a report would have now. */
export function ReportPreview({ board, every, timeZone }: Pick<ReportForm, "board" | "every" | "timeZone">) {
  const project = useProjectSlug();
  const src = `/api/reports/preview?${new URLSearchParams({ project, board, every, timeZone })}`;
  /** Which address was loaded, and which failed. */
  const [loaded, setLoaded] = useState("");
  const [failed, setFailed] = useState("");
  if (board === "") return null;
  return (
    <section aria-label="Preview" className="flex flex-col gap-1.5">
      <p className="font-medium text-sm">Preview</p>
      {failed === src ? (
        <p role="status" className="text-muted text-sm">
          There is no picture. The board has no number, chart or funnel, or it takes too long to compute.
        </p>
      ) : (
        <>
          {loaded !== src && <Skeleton className="h-48 rounded-md" />}
          <section
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
            tabIndex={0}
            aria-label="Picture"
            className={clsx(
              "max-h-60 overflow-y-auto rounded-md border border-line",
              loaded !== src && "hidden",
            )}
          >
            <img
              src={src}
              alt="The report's numbers and charts of the last whole period"
              className="block w-full"
              onLoad={() => setLoaded(src)}
              onError={() => setFailed(src)}
            />
          </section>
        </>
      )}
    </section>
  );
}
