import { useSyncExternalStore } from "react";

/** A job that was started in this tab, and what to do when it is done. */
export type StartedJob = { id: string; title: string; onDone: () => void };

let started: readonly StartedJob[] = [];
const listeners = new Set<() => void>();

/** Shows a job's progress on every page until it is done. */
export function showJob(job: StartedJob): void {
  change([...started, job]);
}

export function hideJob(id: string): void {
  change(started.filter((job) => job.id !== id));
}

/** The import of a file is shown beside the jobs; this tab runs it itself. */
export const importId = "import";

export function useStartedJobs(): readonly StartedJob[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => started,
  );
}

function change(next: readonly StartedJob[]) {
  started = next;
  for (const listener of listeners) listener();
}
