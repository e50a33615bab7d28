import type { BatchAnswer } from "../wire/batch.ts";
import type { ItemTexts } from "../wire/item-texts.ts";
import { limits } from "../wire/limits.ts";
import { ProblemError, problem } from "../wire/problems.ts";
import { answerHeaders } from "./answers.ts";
import type { ItemVerdict, Recorder, Sender } from "./record.ts";
import type { Refusal, RefusedEvents } from "./refused.ts";

/** Events that are checked and encoded without a pause: two milliseconds, for which other requests wait. */
export const chunkEvents = 500;
/** Characters of texts for which a chunk ends before that: their words are found in this thread, of Chinese 1,500 in a millisecond. */
const chunkCharacters = 65_536;
/** Chunks that are on their way to the disk while the next one is made ready. */
const chunksAhead = 4;

type Rooms = { recorder: Recorder; refused: RefusedEvents };

/** Throws `body-invalid` for an array without events, and `body-too-large`. */
export function checkBatch(bodies: readonly unknown[]): void {
  if (bodies.length === 0) {
    throw problem("body-invalid", {
      detail: "The array is empty. Send at least one event.",
      errors: [{ pointer: "", detail: "The array is empty. Send at least one event." }],
    });
  }
  if (bodies.length > limits.batchEvents) {
    throw problem("body-too-large", {
      detail: `An array can have ${limits.batchEvents.toLocaleString("en")} events, and this one has ${bodies.length.toLocaleString("en")}. Send it in parts, or as lines of application/x-ndjson.`,
    });
  }
}

/** Records an array of events, in several commits where it is long, and gives a verdict for each, in order. */
export async function recordBatch(
  { recorder, refused }: Rooms,
  bodies: readonly unknown[],
  texts: ItemTexts,
  sender: Sender,
): Promise<ItemVerdict[]> {
  const verdicts: ItemVerdict[] = [];
  const chunks = inTurn(chunksOf(bodies), async ({ start, end }) => {
    const found = await recorder.recordAll(bodies.slice(start, end), sender);
    await refused.keep(refusalsOf(found, texts, start), sender);
    return found;
  });
  for await (const found of chunks) verdicts.push(...found);
  return verdicts;
}

/** @param start - the index of the first of these verdicts in the array */
export function refusalsOf(verdicts: readonly ItemVerdict[], texts: ItemTexts, start = 0): Refusal[] {
  return verdicts.flatMap((verdict, index) =>
    verdict instanceof ProblemError ? [{ body: texts.at(start + index), problem: verdict }] : [],
  );
}

/** Throws the problem of the store where it took none. */
export function batchResponse(
  verdicts: readonly ItemVerdict[],
  headers: Record<string, string> = answerHeaders,
): Response {
  const results = verdicts.map((verdict) =>
    typeof verdict === "string" ? { ok: true as const, id: verdict } : verdict.toProblem(),
  );
  const refused = verdicts.filter((verdict) => verdict instanceof ProblemError);
  const accepted = verdicts.length - refused.length;
  const status = statusOf(accepted, refused.length, refused.find(isOfStore));
  const answer: BatchAnswer = { ok: refused.length === 0, accepted, refused: refused.length, results };
  return new Response(JSON.stringify(answer), { status, headers });
}

/** 201 where all were accepted, 207 where some were, and 422 where none was. Throws the problem of a store that took none. */
export function statusOf(accepted: number, refused: number, ofStore: ProblemError | undefined): number {
  if (accepted === 0 && ofStore) throw ofStore;
  if (refused === 0) return 201;
  return accepted > 0 ? 207 : 422;
}

/** Whether an event was refused for no fault of its own. */
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
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const result of underWay) yield await result;
}

/** Where chunks begin, and where they end, exclusive. */
function* chunksOf(bodies: readonly unknown[]): Generator<{ start: number; end: number }> {
  for (let start = 0; start < bodies.length; ) {
    let end = start;
    for (let characters = 0; end < bodies.length && end - start < chunkEvents; end++) {
      if (characters >= chunkCharacters) break;
      characters += charactersOf(bodies[end]);
    }
    yield { start, end };
    start = end;
  }
}

/** How long an event's texts are whose words are sought; of what is refused for it, that does not matter. */
function charactersOf(body: unknown): number {
  const { description, tags } = (body ?? {}) as { description?: unknown; tags?: unknown };
  let characters = typeof description === "string" ? description.length : 0;
  if (typeof tags !== "object") return characters;
  let count = 0;
  for (const key in tags) {
    const value = (tags as Record<string, unknown>)[key];
    if (typeof value === "string") characters += value.length;
    if (++count > limits.tags) break;
  }
  return characters;
}
