import { AsyncLocalStorage } from "node:async_hooks";
import { limits } from "../core/limits.ts";
import { type ProblemError, problem } from "../core/problems.ts";

type Deadline = { endsAtMs: number; signal: AbortSignal };

const current = new AsyncLocalStorage<Deadline | undefined>();

/** How much sooner a request within another one must end, so that the outer one can still say why. */
const innerMarginMs = 1_000;

/**
 * The signal that ends reads on behalf of the request in progress: its client is gone, or its deadline has passed.
 * Undefined in background work. It is found from any depth, so that no reader of events can forget it.
 */
export function requestSignal(): AbortSignal | undefined {
  return current.getStore()?.signal;
}

/**
 * Does the work of a request. Throws `query-too-expensive` if it isn't done in time, even if the work doesn't notice;
 * what reads events ends with it.
 *
 * @param signal - aborted when the client is gone
 * @param late - makes the problem
 */
export async function withDeadline<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
  { seconds = limits.requestWorkSeconds, late = tooExpensive }: { seconds?: number; late?: LateProblem } = {},
): Promise<Result> {
  const outer = current.getStore();
  const endsAtMs = Math.min(
    performance.now() + seconds * 1_000,
    outer ? outer.endsAtMs - innerMarginMs : Number.POSITIVE_INFINITY,
  );
  const over = new AbortController();
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => {
      const error = late(seconds);
      // Before the work sees the signal, so that this is the error whatever the work makes of it.
      reject(error);
      over.abort(error);
    },
    Math.max(0, endsAtMs - performance.now()),
  );
  try {
    const own = { endsAtMs, signal: AbortSignal.any([signal, over.signal]) };
    return await Promise.race([current.run(own, work), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Begins work that several requests share, and which must not end with the first of them. */
export function outsideRequests<Result>(work: () => Result): Result {
  return current.run(undefined, work);
}

type LateProblem = (seconds: number) => ProblemError;

/** The problem of a read that takes too long. */
export function tooExpensive(seconds: number): ProblemError {
  return problem("query-too-expensive", {
    detail: `This takes longer than ${seconds} seconds. Use a shorter range or more filters.`,
  });
}

/** The problem of a change that takes too long. */
export function tooSlow(seconds: number): ProblemError {
  return problem("overloaded", {
    detail: `This takes longer than ${seconds} seconds. It may still complete: check before you send it again.`,
    retryAfterSeconds: 30,
  });
}
