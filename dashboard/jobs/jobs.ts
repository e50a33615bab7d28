import { queryOptions } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { Job } from "../../server/wire/job.ts";
import { api } from "../api.ts";

const pollMs = 500;

export function jobQuery(id: string) {
  return queryOptions({
    queryKey: ["job", id],
    queryFn: async () => (await api<{ ok: true; job: Job }>(`/api/jobs/${id}`)).job,
    refetchInterval: ({ state }) => (state.data?.state === "done" ? false : pollMs),
  });
}

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
