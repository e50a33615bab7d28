import type { JsonArray } from "../http/json-array.ts";
import { ProblemError, problem } from "../problems.ts";
import { nextTurn, Turns } from "../turns.ts";
import type { BatchAnswer, ItemResult } from "../wire/batch.ts";
import type { CheckedItem, EventSource, ItemOutcome, Recorder } from "./record.ts";
import type { RejectedEvents, Rejection } from "./rejected.ts";
import { answerHeaders } from "./responses.ts";

/** Events that are recorded at a time, and about how many bytes of them. */
export const chunkEvents = 500;
export const chunkBytes = 196_608;
/** Chunks that are on their way to the disk while the next one is made ready. */
const chunksAhead = 4;

type Rooms = { recorder: Recorder; rejected: RejectedEvents };

/** Chunks of an array that are handed to the store together, and in order: PostgreSQL may store first what is handed over second. */
const chunksTogether = 4;

/** Records an array of events, in several commits where it is long, and gives a verdict for each, in order. */
export async function recordBatch(
  { recorder, rejected }: Rooms,
  array: JsonArray,
  sender: EventSource,
): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = [];
  let ready: CheckedItem[] = [];
  let recording = Promise.resolve();
  async function record(items: CheckedItem[]): Promise<void> {
    const found = await recorder.recordAll(items, sender);
    await rejected.keep(rejectionsOf(found, array, outcomes.length), sender);
    for (const outcome of found) outcomes.push(outcome);
  }
  let chunks = 0;
  for await (const { items } of checkedChunks(array, recorder, sender)) {
    for (const item of items) ready.push(item);
    if (++chunks % chunksTogether > 0) continue;
    // The next items are checked while these are recorded.
    await recording;
    recording = record(ready);
    recording.catch(() => {});
    ready = [];
  }
  await recording;
  if (ready.length > 0) await record(ready);
  return outcomes;
}

/** The items of an array in chunks, each checked when it is asked for. Throws `body-invalid` where there are none. */
export async function* checkedChunks(
  array: JsonArray,
  recorder: Recorder,
  sender: EventSource,
): AsyncGenerator<{ items: CheckedItem[] }> {
  if (array.length === 0) {
    const detail = "The array is empty. Send at least one event.";
    throw problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
  }
  for (let start = 0; start < array.length; ) {
    const end = array.endOf(start, chunkEvents, chunkBytes);
    yield { items: await recorder.checkAll(array.items(start, end), sender) };
    start = end;
  }
}

/** @param start - the index of the first of these verdicts in the array */
export function rejectionsOf(verdicts: readonly ItemOutcome[], array: JsonArray, start = 0): Rejection[] {
  return verdicts.flatMap((verdict, index) =>
    verdict instanceof ProblemError ? [{ body: array.textOf(start + index), problem: verdict }] : [],
  );
}

/** Throws the problem of the store where it took none. */
export async function batchResponse(
  verdicts: readonly ItemOutcome[],
  headers: Record<string, string> = answerHeaders,
): Promise<Response> {
  const turns = new Turns();
  const results: string[] = [];
  for (const verdict of verdicts) {
    const result: ItemResult = typeof verdict === "string" ? { ok: true, id: verdict } : verdict.toProblem();
    results.push(JSON.stringify(result));
    if (turns.isOver) await turns.next();
  }
  const rejected = verdicts.filter((verdict) => verdict instanceof ProblemError);
  const accepted = verdicts.length - rejected.length;
  const status = statusOf(accepted, rejected.length, rejected.find(isOfStore));
  const totals: Omit<BatchAnswer, "results"> = {
    ok: rejected.length === 0,
    accepted,
    rejected: rejected.length,
  };
  const answer = `${JSON.stringify(totals).slice(0, -1)},"results":[${results.join(",")}]}`;
  return new Response(answer, { status, headers });
}

/** 201 where all were accepted, 207 where some were, and 422 where none was. Throws the problem of a store that took none. */
export function statusOf(accepted: number, rejected: number, ofStore: ProblemError | undefined): number {
  if (accepted === 0 && ofStore) throw ofStore;
  if (rejected === 0) return 201;
  return accepted > 0 ? 207 : 422;
}

/** Whether an event was rejected for no fault of its own. */
export function isOfStore({ status }: ProblemError): boolean {
  return status >= 500;
}

/**
 * Does one piece of work after another, some at a time, and gives what comes of each, in order. The next piece is asked for only when
 * there is room for it, and other requests have their turn in between.
 */
export async function* inTurn<Piece, Result>(
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  work: (piece: Piece) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  for await (const piece of pieces) {
    const result = work(piece);
    // A failure is seen when its turn comes; until then it is not one that nobody handles.
    result.catch(() => {});
    underWay.push(result);
    if (underWay.length >= chunksAhead) yield await underWay.shift()!;
    await nextTurn();
  }
  for (const result of underWay) yield await result;
}
