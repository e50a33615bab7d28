import { useSyncExternalStore } from "react";
import { hideJob, importId, showJob } from "../jobs/started.ts";

export type RejectedRecord = { record: number; detail: string };

/** An import that runs in this tab, or has ended. */
export type Import = {
  project: string;
  fileName: string;
  fileBytes: number;
  readBytes: number;
  state: "running" | "done" | "stopped" | "failed";
  /** Why it failed. */
  failure?: string;
  recorded: number;
  /** Events that were recorded before, by an earlier import of the file. */
  duplicates: number;
  rejected: number;
  /** Users whose properties were set. */
  users: number;
  /** The first rejected records. */
  rejections: RejectedRecord[];
  stop: () => void;
};

let current: Import | null = null;
const listeners = new Set<() => void>();

/** Shows an import's progress on every page; null removes it. */
export function showImport(next: Import | null): void {
  if (!current && next) showJob({ id: importId, title: next.fileName, onDone: () => {} });
  if (!next) hideJob(importId);
  current = next;
  for (const listener of listeners) listener();
}

export function useImport(): Import | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
