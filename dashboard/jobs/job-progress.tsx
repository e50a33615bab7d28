import type { Job, Receipt } from "../../server/schemas/job.ts";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";

const verbs: Record<Job["kind"], string> = {
  "erase-user": "erased",
  "delete-channel": "deleted",
  "delete-project": "deleted",
};

/** The progress of a job and, at its end, its result. */
export function JobProgress({ job, label }: { job: Job; label: string }) {
  const { state, done, total } = job;
  const isCounted = total !== null && state !== "waiting";
  const share = state === "cleaning" || state === "done" || total === 0 ? 1 : done / (total ?? 1);
  return (
    <div className="flex flex-col gap-1.5">
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        {...(isCounted && { "aria-valuenow": Math.round(share * 100) })}
        aria-valuetext={progressText(job)}
        className="h-1.5 overflow-hidden rounded-full bg-pressed"
      >
        <div
          className="h-full origin-left rounded-full bg-accent transition-transform duration-300"
          style={{ transform: `scaleX(${isCounted ? share : 0})` }}
        />
      </div>
      <p role="status" className="text-muted text-xs">
        {progressText(job)}
      </p>
    </div>
  );
}

function progressText({ kind, state, done, total, receipt }: Job): string {
  const verb = verbs[kind];
  if (state === "done") return `Done: ${countOf(receipt?.erasedEvents ?? done, "event")} ${verb}.`;
  if (state === "cleaning") return `${countOf(done, "event")} ${verb}. Removing their traces from all files…`;
  if (total === null) return "Counting events…";
  return `${formatNumber(done)} of ${countOf(total, "event")} ${verb}`;
}

/** Lists what an erasure removed besides events. */
export function receiptLines(receipt: Receipt): string[] {
  const { erasedEvents, erasedRejectedEvents, erasedResponses, erasedProfiles, erasedCopies } = receipt;
  return [
    countOf(erasedEvents, "event"),
    ...(erasedRejectedEvents ? [countOf(erasedRejectedEvents, "rejected event")] : []),
    ...(erasedResponses ? [countOf(erasedResponses, "stored response")] : []),
    ...(erasedProfiles ? ["The user's properties"] : []),
    ...(erasedCopies ? [countOf(erasedCopies, "copy of the database", "copies of the database")] : []),
  ];
}
