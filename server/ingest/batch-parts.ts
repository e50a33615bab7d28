import { ProblemError, problem } from "../core/problems.ts";
import type { CheckedEvent } from "../event/check-event.ts";
import type { AppendResult } from "../storage/event-store.ts";
import { commitWorkMax, workOf } from "../storage/group-commit.ts";

/**
 * An event of a batch that will be stored, with its tokens, since computing them takes time for long texts; or the
 * problem for which it is rejected.
 */
export type CheckedItem = { event: CheckedEvent; tokens: string } | ProblemError;

/** The outcome of a batch item: its event's id, or the problem for which it is rejected. */
export type ItemOutcome = string | ProblemError;

/** Whether a batch holds the store no longer than others may wait. */
export function isOneCommit(items: readonly CheckedItem[]): boolean {
  return partsOf(items).length <= 1;
}

/** Divides a batch, so that no part holds the store for long. */
export function partsOf(items: readonly CheckedItem[]): { items: CheckedItem[]; work: number }[] {
  const parts: { items: CheckedItem[]; work: number }[] = [];
  for (const item of items) {
    const work = item instanceof ProblemError ? 0 : workOf(item.tokens);
    const last = parts.at(-1);
    if (last && last.work + work <= commitWorkMax) {
      last.items.push(item);
      last.work += work;
    } else parts.push({ items: [item], work });
  }
  return parts;
}

/** Merges the store's results into the outcomes of accepted events. */
export function mergeResults(outcomes: ItemOutcome[], stored: (AppendResult | Error)[]): ItemOutcome[] {
  let next = 0;
  return outcomes.map((outcome) => {
    if (typeof outcome !== "string") return outcome;
    const result = stored[next++]!;
    if (result instanceof ProblemError) return result;
    if (result instanceof Error) throw result;
    return result.kind === "timestampFull" ? timestampFull() : outcome;
  });
}

/** The problem of an event for whose `createdAt` no row key is left. */
export function timestampFull(): ProblemError {
  const detail = 'A million events already have this "createdAt". Change it by a millisecond.';
  return problem("body-invalid", { detail, errors: [{ pointer: "/createdAt", detail }] });
}
