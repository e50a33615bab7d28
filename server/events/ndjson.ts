import type { LinesAnswer } from "../wire/batch.ts";
import { bodyStream, decodeText, parseJson } from "../wire/body.ts";
import { limits } from "../wire/limits.ts";
import { ProblemError, problem } from "../wire/problems.ts";
import { answerHeaders } from "./answers.ts";
import { chunkEvents, inTurn, isOfStore, statusOf } from "./batch.ts";
import type { Recorder, Sender } from "./record.ts";
import type { RefusedEvents } from "./refused.ts";

/** A line of NDJSON (https://github.com/ndjson/ndjson-spec): what it holds, or why that can't be told. */
type Line = { number: number; bytes: Uint8Array } & ({ body: unknown } | { problem: ProblemError });

/** Bytes of lines that are recorded at a time, where the lines are long. */
const chunkBytes = 196_608;
const lineEnd = "\n".charCodeAt(0);

/** Records events as they come, a line for each, in constant memory: what is sent faster than the disk takes it is not read yet. */
export async function answerLines(
  { recorder, refused }: { recorder: Recorder; refused: RefusedEvents },
  request: Request,
  sender: Sender,
  goOn: () => void,
): Promise<Response> {
  let accepted = 0;
  let refusedLines = 0;
  let ofStore: ProblemError | undefined;
  const refusals: LinesAnswer["refusals"] = [];
  const chunks = inTurn(readLines(bodyStream(request), goOn), async (lines) => {
    const good = lines.filter((line) => "body" in line);
    const verdicts = await recorder.recordAll(
      good.map(({ body }) => body),
      sender,
    );
    let next = 0;
    const bad = lines.flatMap((line) => {
      const verdict = "problem" in line ? line.problem : verdicts[next++]!;
      return verdict instanceof ProblemError ? [{ ...line, problem: verdict }] : [];
    });
    const kept = bad.filter(({ bytes }) => bytes.length > 0);
    await refused.keep(
      kept.map(({ bytes, problem }) => ({ body: decodeText(bytes), problem })),
      sender,
    );
    return { accepted: lines.length - bad.length, bad };
  });
  for await (const { accepted: more, bad } of chunks) {
    accepted += more;
    refusedLines += bad.length;
    ofStore ??= bad.find(({ problem }) => isOfStore(problem))?.problem;
    for (const { number, problem } of bad.slice(0, limits.listedRefusals - refusals.length)) {
      refusals.push({ line: number, ...problem.toProblem() });
    }
  }
  if (accepted + refusedLines === 0) {
    throw problem("body-malformed", { detail: "The body is empty. Send a JSON object on each line." });
  }
  const status = statusOf(accepted, refusedLines, ofStore);
  const answer: LinesAnswer = { ok: refusedLines === 0, accepted, refused: refusedLines, refusals };
  return new Response(JSON.stringify(answer), { status, headers: answerHeaders });
}

/** The lines of a stream that are not blank, some hundred at a time; of one that is too long, its beginning. */
async function* readLines(stream: ReadableStream<Uint8Array>, goOn: () => void): AsyncGenerator<Line[]> {
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
    if (partBytes > limits.eventBytes) lines.push({ number, bytes, problem: tooLong(number) });
    else if (bytes.some((byte) => byte > 0x20)) lines.push(read(number, bytes));
    number++;
    linesBytes += bytes.length;
    parts = [];
    partBytes = 0;
  }

  try {
    goOn();
    for await (const piece of stream) {
      goOn();
      let start = 0;
      for (let end = piece.indexOf(lineEnd); end !== -1; end = piece.indexOf(lineEnd, start)) {
        hold(piece.subarray(start, end));
        endLine();
        start = end + 1;
        if (lines.length >= chunkEvents || linesBytes >= chunkBytes) {
          yield lines;
          lines = [];
          linesBytes = 0;
        }
      }
      // The piece's memory is not held for the sake of its last line.
      hold(piece.slice(start));
    }
    endLine();
  } catch {
    lines.push({
      number,
      bytes: Buffer.concat(parts),
      problem: problem("body-malformed", {
        detail: `The body is cut off in line ${number}, or is not valid gzip.`,
      }),
    });
  }
  if (lines.length > 0) yield lines;
}

function read(number: number, bytes: Uint8Array): Line {
  try {
    return { number, bytes, body: parseJson(bytes, "The line") };
  } catch (error) {
    return { number, bytes, problem: error as ProblemError };
  }
}

function tooLong(number: number): ProblemError {
  return problem("body-too-large", {
    detail: `Line ${number} is longer than ${limits.eventBytes.toLocaleString("en")} bytes.`,
  });
}
