import { ProblemError, problem } from "../core/problems.ts";
import type { JsonArray } from "../http/json.ts";
import { nextTurn, type TurnOwner, Turns } from "../scheduling/turns.ts";
import type { BatchResponse, ItemResult } from "../schemas/batch.ts";
import type { EventSource } from "./accepted-event.ts";
import type { CheckedItem, ItemOutcome } from "./batch-parts.ts";
import { responseHeaders } from "./event-response.ts";
import type { Recorder } from "./record.ts";
import type { RejectedEvents, Rejection } from "./rejected.ts";

/** Maximum number of events in a chunk, and its approximate maximum size. */
export const chunkEvents = 500;
export const chunkBytes = 196_608;
/** Chunks that are being stored while the next one is prepared. */
const chunksInProgress = 4;

type Deps = { recorder: Recorder; rejected: RejectedEvents };

/** Chunks passed to the store in one call, to keep their order: of two calls, the store may commit the later one first. */
const chunksTogether = 4;

/**
 * Records an array of events, in several commits if it is long. Returns an outcome for each, in order, and how many were
 * stored before.
 */
export async function recordBatch(
  { recorder, rejected }: Deps,
  array: JsonArray,
  source: EventSource,
): Promise<{ outcomes: ItemOutcome[]; duplicates: number }> {
  const outcomes: ItemOutcome[] = [];
  let duplicates = 0;
  let pending: CheckedItem[] = [];
  let recording = Promise.resolve();
  async function record(items: CheckedItem[]): Promise<void> {
    const results = await recorder.recordAll(items, source, (events) => {
      duplicates += events;
    });
    await rejected.keep(rejectionsOf(results, array, outcomes.length), source);
    for (const outcome of results) outcomes.push(outcome);
  }
  let chunks = 0;
  for await (const { items } of checkedChunks(array, recorder, source)) {
    for (const item of items) pending.push(item);
    if (++chunks % chunksTogether > 0) continue;
    // Checks the next items while these are recorded.
    await recording;
    recording = record(pending);
    recording.catch(() => {});
    pending = [];
  }
  await recording;
  if (pending.length > 0) await record(pending);
  return { outcomes, duplicates };
}

/**
 * Yields an array's items in chunks, each checked when it is requested. Throws `body-invalid` if the array is empty.
 */
export async function* checkedChunks(
  array: JsonArray,
  recorder: Recorder,
  source: EventSource,
): AsyncGenerator<{ items: CheckedItem[] }> {
  if (array.length === 0) {
    const detail = "The array is empty. Send at least one event.";
    throw problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
  }
  for (let start = 0; start < array.length; ) {
    const end = array.endOf(start, chunkEvents, chunkBytes);
    yield { items: await recorder.checkAll(array.items(start, end), source) };
    start = end;
  }
}

/** @param start - index in the array of the first outcome */
export function rejectionsOf(outcomes: readonly ItemOutcome[], array: JsonArray, start = 0): Rejection[] {
  return outcomes.flatMap((outcome, index) =>
    outcome instanceof ProblemError ? [{ body: array.textOf(start + index), problem: outcome }] : [],
  );
}

/** Throws the problem that isn't the events' fault, if there is one and no event was recorded. */
export async function batchResponse(
  outcomes: readonly ItemOutcome[],
  { projectId }: EventSource,
  { headers = responseHeaders, duplicates }: { headers?: Record<string, string>; duplicates?: number } = {},
): Promise<Response> {
  const turns = new Turns(projectId);
  const results: string[] = [];
  for (const outcome of outcomes) {
    const result: ItemResult = typeof outcome === "string" ? { ok: true, id: outcome } : outcome.toProblem();
    results.push(JSON.stringify(result));
    if (turns.isOver) await turns.next();
  }
  const rejected = outcomes.filter((outcome) => outcome instanceof ProblemError);
  const accepted = outcomes.length - rejected.length;
  const status = statusOf(accepted, rejected.length, rejected.find(isExternalProblem));
  const totals: Omit<BatchResponse, "results"> = {
    ok: rejected.length === 0,
    accepted,
    ...(duplicates !== undefined && { duplicates }),
    rejected: rejected.length,
  };
  const body = `${JSON.stringify(totals).slice(0, -1)},"results":[${results.join(",")}]}`;
  return new Response(body, { status, headers });
}

/** 201 if all were accepted, 207 if some were, 422 if none was. Throws the external problem if none was. */
export function statusOf(
  accepted: number,
  rejected: number,
  externalProblem: ProblemError | undefined,
): number {
  if (accepted === 0 && externalProblem) throw externalProblem;
  if (rejected === 0) return 201;
  return accepted > 0 ? 207 : 422;
}

/** Whether an event was rejected for a reason that isn't its own fault: the storage, a limit, or a revoked key. */
export function isExternalProblem({ status }: ProblemError): boolean {
  return status >= 500 || [401, 403, 429].includes(status);
}

/**
 * Processes pieces in order, several at a time, and yields their results in order. The next piece is requested only
 * when there is room for it, and other requests get their turn in between.
 */
export async function* mapInOrder<Piece, Result>(
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  owner: TurnOwner,
  handle: (piece: Piece) => Promise<Result>,
): AsyncGenerator<Result> {
  const inProgress: Promise<Result>[] = [];
  for await (const piece of pieces) {
    const result = handle(piece);
    // A failure is thrown when its result is awaited. Until then, it must not count as unhandled.
    result.catch(() => {});
    inProgress.push(result);
    if (inProgress.length >= chunksInProgress) yield await inProgress.shift()!;
    await nextTurn(owner);
  }
  for (const result of inProgress) yield await result;
}
