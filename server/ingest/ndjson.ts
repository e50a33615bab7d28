import { bodyPieces } from "../http/body.ts";
import { parseJson, rejectedText, skipWhitespace } from "../http/json.ts";
import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import { Turns } from "../turns.ts";
import type { LinesResponse } from "../wire/batch.ts";
import { chunkBytes, chunkEvents, isExternalProblem, mapInOrder, statusOf } from "./batch.ts";
import { type EventSource, type Recorder, responseHeaders } from "./record.ts";
import type { RejectedEvents } from "./rejected.ts";

/** A line of NDJSON (https://github.com/ndjson/ndjson-spec): its parsed content, or the problem with it. */
type Line = {
  number: number;
  bytes: Uint8Array;
  body: unknown | ProblemError;
  /** Nothing is read after this line. Its problem is always listed. */
  isLast?: true;
};

const lineEnd = "\n".charCodeAt(0);

type Deps = {
  recorder: Recorder;
  rejected: RejectedEvents;
  source: EventSource;
  /**
   * Checks whether the source may send this many events, again and again, because a key can be revoked while lines
   * arrive.
   */
  authorize: (events: number) => Promise<void>;
  /** The most lines to authorize at once. */
  linesMax: number;
  /** Called for each piece of the body. */
  extendTimeout: () => void;
};

/**
 * Records events while they arrive, one on each line, in constant memory: the body is read no faster than events are
 * stored. Stops if the client disconnects, if it may no longer send events, or if too many lines are rejected.
 */
export async function recordLines(
  request: Request,
  { recorder, rejected, source, authorize, linesMax, extendTimeout }: Deps,
): Promise<Response> {
  const { signal } = request;
  const totals: Totals = { accepted: 0, duplicates: 0, rejected: 0 };
  let externalProblem: ProblemError | undefined;
  const rejections: LinesResponse["rejections"] = [];
  let keptCount = 0;

  async function* checkedLines() {
    for await (const lines of readLines(bodyPieces(request), { totals, signal, linesMax, extendTimeout })) {
      const denial = await problemOf(() => authorize(lines.length));
      if (denial && denial.status !== 429) lines.at(-1)!.isLast = true;
      const bodies = lines.map(({ body }) => denial ?? body);
      yield { lines, items: await recorder.checkAll(bodies, source) };
      if (lines.at(-1)!.isLast) return;
    }
  }
  const chunks = mapInOrder(checkedLines(), async ({ lines, items }) => {
    const outcomes = await recorder.recordAll(items, source, (events) => {
      totals.duplicates += events;
    });
    const failed = lines.flatMap((line, index) => {
      const outcome = outcomes[index]!;
      return outcome instanceof ProblemError ? [{ ...line, problem: outcome }] : [];
    });
    const toKeep = failed
      .filter(({ bytes }) => bytes.length > 0)
      .slice(0, limits.listedRejections - keptCount);
    keptCount += toKeep.length;
    await rejected.keep(
      toKeep.map(({ bytes, problem }) => ({ body: rejectedText(bytes), problem })),
      source,
    );
    return { accepted: lines.length - failed.length, failed };
  });
  for await (const { accepted, failed } of chunks) {
    totals.accepted += accepted;
    totals.rejected += failed.length;
    externalProblem ??= failed.find(({ problem }) => isExternalProblem(problem))?.problem;
    for (const { number, problem, isLast } of failed) {
      if (rejections.length >= limits.listedRejections && !isLast) continue;
      rejections.push({ line: number, ...problem.toProblem() });
    }
  }
  const { accepted, duplicates, rejected: rejectedLines } = totals;
  if (accepted + rejectedLines === 0) {
    throw problem("body-malformed", { detail: "The body is empty. Send a JSON object on each line." });
  }
  const status = statusOf(accepted, rejectedLines, externalProblem);
  const body: LinesResponse = {
    ok: rejectedLines === 0,
    accepted,
    duplicates,
    rejected: rejectedLines,
    rejections,
  };
  return new Response(JSON.stringify(body), { status, headers: responseHeaders });
}

/** Outcome of the lines so far. */
type Totals = { accepted: number; duplicates: number; rejected: number };

/**
 * Yields the lines that are not blank, some hundred at a time. Of lines that are too long, only the beginning is kept.
 */
async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  {
    totals,
    signal,
    linesMax,
    extendTimeout,
  }: { totals: Totals; signal: AbortSignal; linesMax: number; extendTimeout: () => void },
): AsyncGenerator<Line[]> {
  const turns = new Turns();
  let number = 1;
  let lines: Line[] = [];
  let linesBytes = 0;
  let parts: Uint8Array[] = [];
  let partBytes = 0;

  function addPart(part: Uint8Array): void {
    if (part.length === 0) return;
    const remaining = limits.eventBytes + 1 - partBytes;
    if (remaining > 0) parts.push(part.length > remaining ? part.slice(0, remaining) : part);
    partBytes += part.length;
  }

  function endLine(): void {
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    if (skipWhitespace(bytes, 0) < bytes.length) {
      const body = partBytes > limits.eventBytes ? lineTooLong(number) : parseLine(bytes);
      lines.push({ number, bytes, body });
    }
    number++;
    linesBytes += bytes.length;
    parts = [];
    partBytes = 0;
  }

  /** Skips blank lines. A body can have millions. */
  function skipBlank(piece: Uint8Array, start: number): number {
    const end = skipWhitespace(piece, start);
    let next = start;
    for (let at = start; at < end; at++) {
      if (piece[at] !== lineEnd) continue;
      number++;
      next = at + 1;
    }
    return next;
  }

  try {
    extendTimeout();
    for await (const piece of pieces) {
      extendTimeout();
      for (let start = 0; ; ) {
        if (partBytes === 0) start = skipBlank(piece, start);
        const end = piece.indexOf(lineEnd, start);
        // Copied, so that the rest of the piece can be freed.
        addPart(end === -1 ? piece.slice(start) : piece.subarray(start, end));
        if (end === -1) break;
        endLine();
        start = end + 1;
        if (lines.length >= Math.min(linesMax, chunkEvents) || linesBytes >= chunkBytes) {
          yield lines;
          lines = [];
          linesBytes = 0;
          if (signal.aborted) return;
          if (totals.rejected > limits.rejectedLines && totals.rejected > totals.accepted) {
            yield [{ number, bytes: new Uint8Array(), body: tooManyRejected(totals, number), isLast: true }];
            return;
          }
        }
        if (turns.isOver) await turns.next();
      }
      if (signal.aborted) return;
      if (turns.isOver) await turns.next();
    }
    endLine();
  } catch (error) {
    const truncated = () =>
      problem("body-malformed", { detail: `The body is truncated in line ${number}, or is not valid gzip.` });
    const body = error instanceof ProblemError ? error : truncated();
    lines.push({ number, bytes: Buffer.concat(parts), body, isLast: true });
  }
  if (lines.length > 0) yield lines;
}

/** The problem that a check throws, if any. */
async function problemOf(check: () => Promise<void>): Promise<ProblemError | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
}

function parseLine(bytes: Uint8Array): unknown | ProblemError {
  try {
    return parseJson(bytes, "The line");
  } catch (error) {
    return error as ProblemError;
  }
}

function tooManyRejected({ accepted, rejected }: Totals, number: number): ProblemError {
  return problem("lines-rejected", {
    detail: `${rejected.toLocaleString("en")} lines were rejected and ${accepted.toLocaleString("en")} accepted, so reading stopped before line ${number}. Fix the rejected lines and send them again, with everything from that line on.`,
  });
}

function lineTooLong(number: number): ProblemError {
  return problem("body-too-large", {
    detail: `Line ${number} is longer than ${limits.eventBytes.toLocaleString("en")} bytes.`,
  });
}
