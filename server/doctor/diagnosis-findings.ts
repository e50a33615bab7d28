import type { Diagnosis } from "../storage/diagnosis.ts";
import { type Finding, ok, problemFound } from "./finding.ts";

export const restoreAdvice =
  "Stop the server, and restore a backup: tidings restore (docs/backup.md). Without one: tidings salvage (docs/doctor.md).";
const rebuild = "Stop the server, and run: tidings doctor --fix";

/** Faults and advice. On PostgreSQL, backups are made with its own tools. */
function partsOn(engine: "sqlite" | "postgres") {
  const restore =
    engine === "sqlite"
      ? restoreAdvice
      : "Stop all nodes, and restore a backup with PostgreSQL's tools (docs/backup.md).";
  return {
    pages: { check: "database file", advice: restore, fix: null },
    version: {
      check: "schema",
      advice: "If it is older, start the server, which upgrades it. If it is newer, use the newer program.",
      fix: null,
    },
    index: { check: "search index", advice: rebuild, fix: "index" },
    counters: { check: "counters", advice: rebuild, fix: "counters" },
    blocks: { check: "blocks", advice: rebuild, fix: "blocks" },
    ids: { check: "ids of clients", advice: rebuild, fix: "ids" },
  } as const;
}

/** Whether what the events are compared with could be read. */
export function isReadable(found: Diagnosis[]): boolean {
  return !found.some(({ part }) => part === "pages" || part === "version");
}

/** A finding for each fault, and for each part without one that could be checked. */
export function findingsOf(found: Diagnosis[], engine: "sqlite" | "postgres"): Finding[] {
  const parts = partsOn(engine);
  const faults = found.map(({ part, detail }) => {
    const { check, advice, fix } = parts[part];
    return problemFound(check, `${detail[0]!.toUpperCase()}${detail.slice(1)}.`, advice, fix);
  });
  const clean = Object.entries(parts).filter(
    ([part]) => (isReadable(found) || part === "pages") && !found.some((fault) => fault.part === part),
  );
  return [...faults, ...clean.map(([, { check }]) => ok(check, "No fault found."))];
}
