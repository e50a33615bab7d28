import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { formatDate } from "../components/dates.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { JobProgress, receiptLines } from "../jobs/job-progress.tsx";
import { jobQuery } from "../jobs/jobs.ts";

/** The progress of an erasure, and its receipt when it is done. */
export function Erasure({ id, project }: { id: string; project: string }) {
  const queries = useQueryClient();
  const { data: job, error, refetch } = useQuery(jobQuery(id));
  const isDone = job?.state === "done";
  useEffect(() => {
    if (!isDone) return;
    // Nothing of the user stays in this tab's memory.
    for (const key of ["user", "users", "journey", "user-activity"])
      queries.removeQueries({ queryKey: [key, project] });
  }, [isDone, queries, project]);
  if (error && !job)
    return <ErrorState title="The erasure couldn't be read" error={error} retry={() => void refetch()} />;
  if (!job) return <Skeleton className="m-5 h-24" />;
  const { receipt } = job;
  return (
    <section aria-label="Erasure" className="mx-auto flex max-w-lg flex-col gap-4 px-4 py-10 md:py-16">
      <h2 className="font-semibold text-lg">{isDone ? "The user was erased" : "Erasing the user…"}</h2>
      <JobProgress job={job} label="Erasure" />
      {receipt && (
        <div className="rounded-lg border border-line bg-raised p-4 text-sm">
          <h3 className="mb-2 font-medium">Receipt</h3>
          <ul className="list-disc pl-4">
            {receiptLines(receipt).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          <p className="mt-3 text-muted text-xs">
            Finished {formatDate(receipt.endedAt, "medium")} · job{" "}
            <code className="break-all font-mono">{job.id}</code>
          </p>
        </div>
      )}
      <p className="text-muted text-sm">
        {isDone
          ? "New events with the same ID would be recorded again."
          : "You can leave this page. The erasure continues."}
      </p>
      <div>
        <Link to="/p/$project/users" params={{ project }} search={{}} className={buttonClass()}>
          All users
        </Link>
      </div>
    </section>
  );
}
