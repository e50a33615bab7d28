import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { parseJson, skipWhitespace } from "../http/json.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";
import { chunkBytes, chunkEvents } from "./record-batch.ts";

/** A line of NDJSON (https://github.com/ndjson/ndjson-spec): its parsed content, or the problem with it. */
type Line = {
  number: number;
  bytes: Uint8Array;
  body: unknown | ProblemError;
  /** Nothing is read after this line. Its problem is always listed. */
  isLast?: true;
};

/** Outcome of the lines so far. */
export type Totals = { accepted: number; duplicates: number; rejected: number };

type Options = {
  totals: Totals;
  owner: TurnOwner;
  signal: AbortSignal;
  /** The most lines to yield at once. */
  linesMax: number;
  /** Called for each piece of the body. */
  extendTimeout: () => void;
};

const lineEnd = "\n".charCodeAt(0);

/**
 * Yields the lines that are not blank, some hundred at a time. Of lines that are too long, only the beginning is kept.
 */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  { totals, owner, signal, linesMax, extendTimeout }: Options,
): AsyncGenerator<Line[]> {
  const turns = new Turns(owner);
  const splitter = new LineSplitter();
  try {
    extendTimeout();
    for await (const piece of pieces) {
      extendTimeout();
      for (let start: number | null = 0; ; ) {
        start = splitter.readLine(piece, start);
        if (start === null) break;
        if (splitter.lines >= Math.min(linesMax, chunkEvents) || splitter.bytes >= chunkBytes) {
          yield splitter.take();
          if (signal.aborted) return;
          if (totals.rejected > limits.rejectedLines && totals.rejected > totals.accepted) {
            splitter.fail(tooManyRejected(totals, splitter.number));
            yield splitter.take();
            return;
          }
        }
        if (turns.isOver) await turns.next();
      }
      if (signal.aborted) return;
      if (turns.isOver) await turns.next();
    }
    splitter.endLine();
  } catch (error) {
    splitter.fail(error instanceof ProblemError ? error : truncated(splitter.number));
  }
  if (splitter.lines > 0) yield splitter.take();
}

/** Splits pieces of a body into lines. */
class LineSplitter {
  /** The number of the line that is being read. */
  number = 1;
  /** The bytes of the lines that are complete. */
  bytes = 0;
  #lines: Line[] = [];
  /** The beginning of the line that is being read, and how long all of it is so far. */
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  /** How many lines are complete. */
  get lines(): number {
    return this.#lines.length;
  }

  /** Returns the complete lines, and forgets them. */
  take(): Line[] {
    const lines = this.#lines;
    this.#lines = [];
    this.bytes = 0;
    return lines;
  }

  /** Reads to the end of a line. Returns where the next one begins; null at the end of the piece. */
  readLine(piece: Uint8Array, from: number): number | null {
    const start = this.#partBytes === 0 ? this.#skipBlank(piece, from) : from;
    const end = piece.indexOf(lineEnd, start);
    // Copied, so that the rest of the piece can be freed.
    this.#addPart(end === -1 ? piece.slice(start) : piece.subarray(start, end));
    if (end === -1) return null;
    this.endLine();
    return end + 1;
  }

  endLine(): void {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    if (skipWhitespace(bytes, 0) < bytes.length) {
      const body = this.#partBytes > limits.eventBytes ? lineTooLong(this.number) : parseLine(bytes);
      this.#lines.push({ number: this.number, bytes, body });
    }
    this.number++;
    this.bytes += bytes.length;
    this.#parts = [];
    this.#partBytes = 0;
  }

  /** Ends with a problem of the line that is being read. */
  fail(problem: ProblemError): void {
    const bytes = Buffer.concat(this.#parts);
    this.#lines.push({ number: this.number, bytes, body: problem, isLast: true });
  }

  #addPart(part: Uint8Array): void {
    if (part.length === 0) return;
    const remaining = limits.eventBytes + 1 - this.#partBytes;
    if (remaining > 0) this.#parts.push(part.length > remaining ? part.slice(0, remaining) : part);
    this.#partBytes += part.length;
  }

  /** Skips blank lines. A body can have millions. */
  #skipBlank(piece: Uint8Array, start: number): number {
    const end = skipWhitespace(piece, start);
    let next = start;
    for (let at = start; at < end; at++) {
      if (piece[at] !== lineEnd) continue;
      this.number++;
      next = at + 1;
    }
    return next;
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

function truncated(number: number): ProblemError {
  return problem("body-malformed", {
    detail: `The body is truncated in line ${number}, or is not valid gzip.`,
  });
}
