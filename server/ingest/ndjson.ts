import { bodyPieces, firstFilled, keptText, parseJson } from "../http/body.ts";
import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import { Turns } from "../turns.ts";
import type { LinesAnswer } from "../wire/batch.ts";
import { chunkBytes, chunkEvents, inTurn, isOfStore, statusOf } from "./batch.ts";
import type { EventSource, Recorder } from "./record.ts";
import type { RejectedEvents } from "./rejected.ts";
import { answerHeaders } from "./responses.ts";

/** A line of NDJSON (https://github.com/ndjson/ndjson-spec): what it holds, or why that can't be told. */
type Line = {
  number: number;
  bytes: Uint8Array;
  body: unknown | ProblemError;
  /** Nothing is read after it: its problem is told however many were before. */
  isLast?: true;
};

const lineEnd = "\n".charCodeAt(0);

/**
 * Records events as they come, a line for each, in constant memory: what is sent faster than the disk takes it is not read yet. It ends
 * where the client goes, or where too many lines are rejected.
 */
export async function answerLines(
  { recorder, rejected }: { recorder: Recorder; rejected: RejectedEvents },
  request: Request,
  sender: EventSource,
  goOn: () => void,
): Promise<Response> {
  const { signal } = request;
  const totals: Totals = { accepted: 0, rejected: 0 };
  let ofStore: ProblemError | undefined;
  const rejections: LinesAnswer["rejections"] = [];
  let kept = 0;

  async function* checkedLines() {
    for await (const lines of readLines(bodyPieces(request), totals, signal, goOn)) {
      const bodies = lines.map(({ body }) => body);
      yield { lines, items: await recorder.checkAll(bodies, sender) };
    }
  }
  const chunks = inTurn(checkedLines(), async ({ lines, items }) => {
    const verdicts = await recorder.recordAll(items, sender);
    const bad = lines.flatMap((line, index) => {
      const verdict = verdicts[index]!;
      return verdict instanceof ProblemError ? [{ ...line, problem: verdict }] : [];
    });
    const toKeep = bad.filter(({ bytes }) => bytes.length > 0).slice(0, limits.listedRejections - kept);
    kept += toKeep.length;
    await rejected.keep(
      toKeep.map(({ bytes, problem }) => ({ body: keptText(bytes), problem })),
      sender,
    );
    return { accepted: lines.length - bad.length, bad };
  });
  for await (const { accepted, bad } of chunks) {
    totals.accepted += accepted;
    totals.rejected += bad.length;
    ofStore ??= bad.find(({ problem }) => isOfStore(problem))?.problem;
    for (const { number, problem, isLast } of bad) {
      if (rejections.length >= limits.listedRejections && !isLast) continue;
      rejections.push({ line: number, ...problem.toProblem() });
    }
  }
  const { accepted, rejected: rejectedLines } = totals;
  if (accepted + rejectedLines === 0) {
    throw problem("body-malformed", { detail: "The body is empty. Send a JSON object on each line." });
  }
  const status = statusOf(accepted, rejectedLines, ofStore);
  const answer: LinesAnswer = { ok: rejectedLines === 0, accepted, rejected: rejectedLines, rejections };
  return new Response(JSON.stringify(answer), { status, headers: answerHeaders });
}

/** What became of the lines of a body until now. */
type Totals = { accepted: number; rejected: number };

/** The lines of a body that are not blank, some hundred at a time; of one that is too long, its beginning. */
async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  totals: Totals,
  signal: AbortSignal,
  goOn: () => void,
): AsyncGenerator<Line[]> {
  const turns = new Turns();
  let number = 1;
  let lines: Line[] = [];
  let linesBytes = 0;
  let parts: Uint8Array[] = [];
  let partBytes = 0;

  function hold(part: Uint8Array): void {
    if (part.length === 0) return;
    const room = limits.eventBytes + 1 - partBytes;
    if (room > 0) parts.push(part.length > room ? part.slice(0, room) : part);
    partBytes += part.length;
  }

  function endLine(): void {
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    if (firstFilled(bytes, 0) < bytes.length) {
      lines.push({ number, bytes, body: partBytes > limits.eventBytes ? tooLong(number) : read(bytes) });
    }
    number++;
    linesBytes += bytes.length;
    parts = [];
    partBytes = 0;
  }

  /** Steps over blank lines, of which a body may have millions. */
  function skipBlank(piece: Uint8Array, start: number): number {
    const end = firstFilled(piece, start);
    let next = start;
    for (let at = start; at < end; at++) {
      if (piece[at] !== lineEnd) continue;
      number++;
      next = at + 1;
    }
    return next;
  }

  try {
    goOn();
    for await (const piece of pieces) {
      goOn();
      for (let start = 0; ; ) {
        if (partBytes === 0) start = skipBlank(piece, start);
        const end = piece.indexOf(lineEnd, start);
        // The piece's memory is not held for the sake of its last line.
        hold(end === -1 ? piece.slice(start) : piece.subarray(start, end));
        if (end === -1) break;
        endLine();
        start = end + 1;
        if (lines.length >= chunkEvents || linesBytes >= chunkBytes) {
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
    const cutOff = () =>
      problem("body-malformed", { detail: `The body is truncated in line ${number}, or is not valid gzip.` });
    const body = error instanceof ProblemError ? error : cutOff();
    lines.push({ number, bytes: Buffer.concat(parts), body, isLast: true });
  }
  if (lines.length > 0) yield lines;
}

function read(bytes: Uint8Array): unknown | ProblemError {
  try {
    return parseJson(bytes, "The line");
  } catch (error) {
    return error as ProblemError;
  }
}

function tooManyRejected({ accepted, rejected }: Totals, number: number): ProblemError {
  return problem("lines-rejected", {
    detail: `${rejected.toLocaleString("en")} lines were rejected and ${accepted.toLocaleString("en")} accepted, so nothing was read from line ${number} on. Fix the lines and send the body again from there.`,
  });
}

function tooLong(number: number): ProblemError {
  return problem("body-too-large", {
    detail: `Line ${number} is longer than ${limits.eventBytes.toLocaleString("en")} bytes.`,
  });
}
