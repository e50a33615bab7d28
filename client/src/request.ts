import { TidingsError, TidingsNetworkError } from "./errors.ts";
import type { Problem } from "./wire.gen.ts";

/** As much of `fetch` as the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type Policy = {
  fetch: Fetch;
  /** Further attempts after the first. */
  retries: number;
  /** Of each attempt. */
  timeoutMs: number;
  signals: AbortSignal[];
};

type Outcome = { answer: object } | { failure: TidingsError | TidingsNetworkError; mayRetry: boolean };

const backoffBaseMs = 200;
const backoffMaxMs = 10_000;
/** Nobody waits longer than this on a promise: what asks for more is rejected with `retryAfterMs`. */
const retryAfterMaxMs = 60_000;

/**
 * Sends a request until it is answered: network errors, 408, 429 and 5xx are retried. Resolves to the JSON that `isAnswer`
 * takes for an answer.
 *
 * Rejects with `TidingsError`, `TidingsNetworkError`, or the reason of a signal that was aborted.
 */
export async function request<Answer extends object>(
  url: string,
  init: RequestInit,
  policy: Policy,
  isAnswer: (json: Record<string, unknown>) => boolean = ({ ok }) => ok === true,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOnce(url, init, policy, attempt, isAnswer);
    if ("answer" in outcome) return outcome.answer as Answer;
    const { failure, mayRetry } = outcome;
    const askedMs = failure instanceof TidingsError ? (failure.retryAfterMs ?? 0) : 0;
    if (!mayRetry || attempt > policy.retries || askedMs > retryAfterMaxMs) throw failure;
    await waitToRetry(attempt, policy, askedMs);
  }
}

/** Rejects with the reason of a signal that was aborted. */
export function waitToRetry(attempt: number, { signals }: Policy, askedMs = 0): Promise<void> {
  return sleep(askedMs + backoffMs(attempt), signals);
}

/** Whether the same may well succeed a moment later. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Exponential, with full jitter: clients that failed together do not come back together. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  return random() * Math.min(backoffMaxMs, backoffBaseMs * 2 ** (attempt - 1));
}

async function attemptOnce(
  url: string,
  init: RequestInit,
  policy: Policy,
  attempt: number,
  isAnswer: (json: Record<string, unknown>) => boolean,
): Promise<Outcome> {
  // Not AbortSignal.any and AbortSignal.timeout: Node 18 began without the first, and a timer that is over is cleared here.
  const controller = new AbortController();
  const stopFollowing = follow(policy.signals, (reason) => controller.abort(reason));
  const timer = setTimeout(
    () => controller.abort(new DOMException(`no response within ${policy.timeoutMs} ms`, "TimeoutError")),
    policy.timeoutMs,
  );
  try {
    // A redirected POST would arrive as a GET, and the API key at another address.
    const response = await policy.fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    return read(response, await response.text(), isAnswer);
  } catch (cause) {
    for (const signal of policy.signals) signal.throwIfAborted();
    const message = `No response from ${url.split("?")[0]} (attempt ${attempt}): ${reasonOf(cause)}`;
    return { failure: new TidingsNetworkError(message, { cause, attempts: attempt }), mayRetry: true };
  } finally {
    clearTimeout(timer);
    stopFollowing();
  }
}

function read(
  response: Response,
  text: string,
  isAnswer: (json: Record<string, unknown>) => boolean,
): Outcome {
  const { status } = response;
  const json = parse(text);
  if (isObject(json) && isAnswer(json)) return { answer: json };
  if (response.ok) {
    const detail = "The response did not come from Tidings. Check `baseUrl`.";
    return { failure: new TidingsError({ status, code: "answer-invalid", detail }), mayRetry: false };
  }
  // In a browser a redirect that is not followed shows neither its status nor its address.
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    const location = response.headers.get("location");
    const detail = `The server redirects${location ? ` to ${location}` : ""}. Use its final address as \`baseUrl\`.`;
    return { failure: new TidingsError({ status, code: "redirected", detail }), mayRetry: false };
  }
  return {
    failure: rejectionOf(status, json, retryAfterMs(response.headers.get("retry-after"))),
    mayRetry: isPassing(status),
  };
}

/** A problem of Tidings as an error; also where it is none, as from a proxy. */
export function rejectionOf(status: number, json: unknown, retryAfter?: number): TidingsError {
  const { type, detail, errors } = (isObject(json) ? json : {}) as Partial<Problem>;
  if (typeof type !== "string" || typeof detail !== "string") {
    return new TidingsError({
      status,
      code: `http-${status}`,
      detail: `The server responded with status ${status}, without a reason.`,
      retryAfterMs: retryAfter,
    });
  }
  return new TidingsError({
    status,
    code: type.slice(type.lastIndexOf("/") + 1),
    detail,
    errors: Array.isArray(errors) ? errors : [],
    retryAfterMs: retryAfter,
  });
}

/** The header `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, as milliseconds from now. */
export function retryAfterMs(header: string | null, now: () => number = Date.now): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

function sleep(ms: number, signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stopFollowing();
      resolve();
    }, ms);
    const stopFollowing = follow(signals, (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}

/** Calls back when one of the signals is aborted, at once if it is already; returns the way to stop. */
function follow(signals: AbortSignal[], onAbort: (reason: unknown) => void): () => void {
  const listeners = signals.map((signal) => {
    const listener = () => onAbort(signal.reason);
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
    return () => signal.removeEventListener("abort", listener);
  });
  return () => {
    for (const remove of listeners) remove();
  };
}

/** Node says only "fetch failed"; the reason lies in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not Tidings' answer, then; the caller says so.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
