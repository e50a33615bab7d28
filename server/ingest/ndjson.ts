import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { bodyPieces } from "../http/body.ts";
import { rejectedText } from "../http/json.ts";
import type { LinesResponse } from "../schemas/batch.ts";
import type { EventSource } from "./accepted-event.ts";
import { responseHeaders } from "./event-response.ts";
import { readLines, type Totals } from "./read-lines.ts";
import type { Recorder } from "./record.ts";
import { isExternalProblem, mapInOrder, statusOf } from "./record-batch.ts";
import type { RejectedEvents } from "./rejected.ts";

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
  const owner = source.projectId;
  const totals: Totals = { accepted: 0, duplicates: 0, rejected: 0 };
  let externalProblem: ProblemError | undefined;
  const rejections: LinesResponse["rejections"] = [];
  let keptCount = 0;

  async function* checkedLines() {
    for await (const lines of readLines(bodyPieces(request), {
      totals,
      owner,
      signal,
      linesMax,
      extendTimeout,
    })) {
      const denial = await problemOf(() => authorize(lines.length));
      if (denial && denial.status !== 429) lines.at(-1)!.isLast = true;
      const bodies = lines.map(({ body }) => denial ?? body);
      yield { lines, items: await recorder.checkAll(bodies, source) };
      if (lines.at(-1)!.isLast) return;
    }
  }
  const chunks = mapInOrder(checkedLines(), owner, async ({ lines, items }) => {
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
