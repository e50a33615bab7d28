import { TidingsError, TidingsNetworkError } from "./errors.ts";
import type { Problem } from "./wire.gen.ts";

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type Policy = {
  fetch: Fetch;
  /** Further attempts after the first. */
  retries: number;
  /** The time limit of each attempt. */
  timeoutMs: number;
  signals: AbortSignal[];
};

/** Why an attempt failed. */
type Failure = TidingsError | TidingsNetworkError;

const backoffBaseMs = 200;
const backoffMaxMs = 10_000;
/** The longest `Retry-After` to wait for. If the server asks for more, the call rejects with `retryAfterMs`. */
export const retryAfterMaxMs = 60_000;

/**
 * Sends a request, and retries network errors, 408, 429 and 5xx. Resolves to the first JSON that `isExpected` accepts.
 *
 * Rejects with `TidingsError`, `TidingsNetworkError`, or the reason of an aborted signal.
 */
export async function request<Body extends object>(
  url: string,
  init: RequestInit,
  policy: Policy,
  isExpected: (json: Record<string, unknown>) => boolean = ({ ok }) => ok === true,
): Promise<Body> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOnce(url, init, policy, attempt, isExpected);
    if (!(outcome instanceof Error)) return outcome as Body;
    const waitMs = requestedWaitMs(outcome);
    if (!isTemporaryFailure(outcome) || attempt > policy.retries || waitMs > retryAfterMaxMs) throw outcome;
    await waitToRetry(attempt, policy, waitMs);
  }
}

/** Waits before the next attempt. Rejects with the reason of an aborted signal. */
export function waitToRetry(attempt: number, { signals }: Policy, requestedWaitMs = 0): Promise<void> {
  return sleep(requestedWaitMs + backoffMs(attempt), signals);
}

/** Whether a retry may succeed. */
export function isTemporary(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

export function isTemporaryFailure(failure: Failure): boolean {
  return !(failure instanceof TidingsError) || isTemporary(failure.status);
}

/** How long the server asked to wait, in milliseconds. */
export function requestedWaitMs(failure: Error | undefined): number {
  return (failure instanceof TidingsError && failure.retryAfterMs) || 0;
}

/** Exponential with full jitter, so that clients that failed together don't retry together. */
export function backoffMs(attempt: number, random: () => number = Math.random, maxMs = backoffMaxMs): number {
  return random() * Math.min(maxMs, backoffBaseMs * 2 ** (attempt - 1));
}

async function attemptOnce(
  url: string,
  init: RequestInit,
  policy: Policy,
  attempt: number,
  isExpected: (json: Record<string, unknown>) => boolean,
): Promise<object | Failure> {
  // Not AbortSignal.any, which early Node 18 lacks, nor AbortSignal.timeout, whose timer can't be cleared.
  const controller = new AbortController();
  const stopListening = onAbortOf(policy.signals, (reason) => controller.abort(reason));
  const timer = setTimeout(
    () => controller.abort(new DOMException(`no response within ${policy.timeoutMs} ms`, "TimeoutError")),
    policy.timeoutMs,
  );
  try {
    // Following a redirect would turn the POST into a GET and send the API key to another address.
    const response = await policy.fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    const json = parse(await response.text());
    return isObject(json) && isExpected(json) ? json : failureOf(response, json);
  } catch (cause) {
    for (const signal of policy.signals) signal.throwIfAborted();
    const message = `No response from ${url.split("?")[0]} (attempt ${attempt}): ${reasonOf(cause)}`;
    return new TidingsNetworkError(message, { cause, attempts: attempt });
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

/** The error for a response that is not what was expected. */
export function failureOf({ status, ok, type, headers }: Response, json: unknown): TidingsError {
  if (ok) {
    const detail = "The response did not come from Tidings. Check `baseUrl`.";
    return new TidingsError({ status, code: "response-invalid", detail });
  }
  // In browsers, a redirect that is not followed hides its status and location.
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    const location = headers.get("location");
    const detail = `The server redirects${location ? ` to ${location}` : ""}. Use its final address as \`baseUrl\`.`;
    return new TidingsError({ status, code: "redirected", detail });
  }
  return responseError(status, json, retryAfterMs(headers.get("retry-after")));
}

/** The error for a failed response: a problem from Tidings, or anything else, for example from a proxy. */
export function responseError(status: number, json: unknown, requestedWaitMs?: number): TidingsError {
  const { type, detail, errors } = (isObject(json) ? json : {}) as Partial<Problem>;
  const isProblem = typeof type === "string" && typeof detail === "string";
  return new TidingsError({
    status,
    code: isProblem ? type.slice(type.lastIndexOf("/") + 1) : `http-${status}`,
    detail: isProblem ? detail : `The server responded with status ${status}, without a reason.`,
    errors: isProblem && Array.isArray(errors) ? errors : [],
    retryAfterMs: requestedWaitMs,
  });
}

/** The header `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, as milliseconds from now. */
export function retryAfterMs(header: string | null, now: () => number = Date.now): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/** Rejects with the reason of an aborted signal. */
export function sleep(ms: number, signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stopListening();
      resolve();
    }, ms);
    const stopListening = onAbortOf(signals, (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}

/** Calls back when one of the signals is aborted, immediately if one already is. Returns the function that stops it. */
export function onAbortOf(signals: AbortSignal[], onAbort: (reason: unknown) => void): () => void {
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

/** Node's message is only "fetch failed"; the cause has the reason. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message;
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not from Tidings; the caller reports that.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
