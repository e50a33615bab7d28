import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { applyFixes } from "../event/apply-fixes.ts";
import { parseJson } from "../http/json.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";
import type { RejectedReplay, RejectedReplayResponse } from "../schemas/rejected-event.ts";
import type { EventSource } from "./accepted-event.ts";
import type { Recorder } from "./record.ts";
import { isContentProblem, type RejectedBody, type RejectedEvents } from "./rejected.ts";

/** Rejected events that are recorded at the same time, so that they share commits. */
const atOnce = 50;
const listedFailures = 10;

type Deps = { recorder: Recorder; rejected: RejectedEvents };
/** `gone` was resent or discarded by somebody else in the meantime. */
type Outcome = { id: number; result: "resent" | "gone" | ProblemError };

/**
 * Resends the rejected events of a filter, oldest first, as many as one request takes, with the same changes to each.
 * Each is recorded in the commit that removes it from the list, so at most once. Throws the problem for which no more
 * events can be recorded, such as `quota-reached`, if there is one before the first.
 */
export async function replayMany(
  { recorder, rejected }: Deps,
  source: EventSource,
  { after, fixes, keepTime, dryRun, ...filter }: RejectedReplay,
): Promise<Omit<RejectedReplayResponse, "ok">> {
  const limit = limits.rejectedAtOnce;
  const rows = await rejected.bodies(source.projectId, filter, Number(after ?? 0), limit + 1);
  const page = rows.slice(0, limit);
  const bodies = await bodiesOf(page, source.projectId, (row, event) => {
    const fixed = applyFixes(event, fixes);
    return keepTime ? withTime(fixed, row.rejectedAt) : fixed;
  });
  const checked = await recorder.checkAll(bodies, source);
  const outcomes: Outcome[] = [];
  const answer = (next: number | null) => summaryOf(outcomes, next);

  for (let start = 0; start < page.length; start += atOnce) {
    const some = await Promise.all(
      page.slice(start, start + atOnce).map(async ({ id }, index): Promise<Outcome> => {
        const item = checked[start + index]!;
        if (item instanceof ProblemError) return { id, result: item };
        if (dryRun) return { id, result: "resent" };
        return { id, result: await resend(bodies[start + index], id) };
      }),
    );
    const stopped = some.find(({ result }) => result instanceof ProblemError && !isContentProblem(result));
    outcomes.push(...(stopped ? some.filter(({ result }) => !isStop(result)) : some));
    if (!stopped) continue;
    if (outcomes.every(({ result }) => result !== "resent")) throw stopped.result;
    // The rest is not lost: the next request begins with it, and fails if nothing has changed.
    return answer(stopped.id - 1);
  }
  return answer(rows.length > limit ? page.at(-1)!.id : null);

  async function resend(body: unknown, id: number): Promise<Outcome["result"]> {
    try {
      const recorded = await recorder.recordWith(body, source, () => ({ kind: "replay", rejectedId: id }));
      return recorded === null ? "gone" : "resent";
    } catch (error) {
      if (error instanceof ProblemError) return error;
      throw error;
    }
  }
}

function isStop(result: Outcome["result"]): boolean {
  return result instanceof ProblemError && !isContentProblem(result);
}

/** The events as they are resent; a problem takes the place of what can't be. */
async function bodiesOf(
  rows: RejectedBody[],
  owner: TurnOwner,
  fix: (row: RejectedBody, event: unknown) => unknown,
): Promise<unknown[]> {
  const turns = new Turns(owner);
  const bodies: unknown[] = [];
  for (const row of rows) {
    bodies.push(bodyOf(row, fix));
    await turns.next();
  }
  return bodies;
}

function bodyOf(row: RejectedBody, fix: (row: RejectedBody, event: unknown) => unknown): unknown {
  if (row.cut)
    return problem("body-invalid", {
      detail: "The event was too long to keep in full. Resend it by itself, with its complete body.",
    });
  try {
    return fix(row, parseJson(Buffer.from(row.body)));
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
}

/** Dates an event by when it was rejected, unless it has a date. */
function withTime(event: unknown, rejectedAt: number): unknown {
  if (typeof event !== "object" || event === null || Array.isArray(event) || "createdAt" in event)
    return event;
  return { ...event, createdAt: rejectedAt };
}

function summaryOf(outcomes: Outcome[], next: number | null): Omit<RejectedReplayResponse, "ok"> {
  const failures = outcomes.flatMap(({ id, result }) =>
    result instanceof ProblemError ? [{ id: String(id), detail: result.toProblem().detail }] : [],
  );
  return {
    resent: outcomes.filter(({ result }) => result === "resent").length,
    failed: failures.length,
    failures: failures.slice(0, listedFailures),
    next: next === null ? null : String(next),
  };
}
