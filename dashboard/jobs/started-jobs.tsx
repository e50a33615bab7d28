import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { IconButton } from "../components/ui/button.tsx";
import { ImportCard } from "../import/import-card.tsx";
import { useImport } from "../import/imports.ts";
import { useOverlay } from "../shell/overlays.tsx";
import { JobProgress } from "./job-progress.tsx";
import { jobQuery } from "./jobs.ts";
import { hideJob, importId, type StartedJob, useStartedJobs } from "./started.ts";

/** How long the result of a job stays. */
const doneMs = 8_000;
/** Between the jobs and the messages above them. */
const gapPx = 8;

/** The jobs and the import that were started in this tab, above every page. */
export function StartedJobs() {
  const running = useImport();
  // The dialog shows the same.
  const isImportShown = useOverlay() === "import";
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const { style } = document.documentElement;
    const observer = new ResizeObserver(([entry]) => {
      const { height } = entry!.contentRect;
      style.setProperty("--jobs", height > 0 ? `${height + gapPx}px` : "0px");
    });
    observer.observe(section.current!);
    return () => {
      observer.disconnect();
      style.removeProperty("--jobs");
    };
  }, []);
  return (
    <section
      ref={section}
      aria-label="Running jobs"
      className="absolute right-4 bottom-4 z-30 flex w-72 flex-col gap-2 max-md:right-3 max-md:bottom-17"
    >
      {useStartedJobs().map((job) =>
        job.id === importId ? (
          running && !isImportShown && <ImportCard key={job.id} current={running} />
        ) : (
          <JobCard key={job.id} started={job} />
        ),
      )}
    </section>
  );
}

function JobCard({ started: { id, title, onDone } }: { started: StartedJob }) {
  const { data: job, error } = useQuery(jobQuery(id));
  const done = useRef(onDone);
  const isDone = job?.state === "done";
  useEffect(() => {
    if (!isDone) return;
    done.current();
    const timer = setTimeout(() => hideJob(id), doneMs);
    return () => clearTimeout(timer);
  }, [isDone, id]);
  return (
    <div className="animate-rise rounded-lg border border-line-strong bg-raised p-3 shadow-md">
      <div className="-mt-1 mb-1 flex items-center gap-2">
        <p className="hostile-line flex-1 font-medium text-sm">{title}</p>
        <IconButton label="Hide" className="size-7 max-md:size-10" onClick={() => hideJob(id)}>
          <X aria-hidden className="size-3.5" />
        </IconButton>
      </div>
      {job ? (
        <JobProgress job={job} label={title} />
      ) : (
        <p className="text-muted text-xs">{error ? "Its progress can't be read now." : "Starting…"}</p>
      )}
    </div>
  );
}
