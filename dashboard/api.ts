import type { Problem } from "../server/problems.ts";

/** A request that the server rejected, or that did not reach it. `detail` is a sentence fit to show. */
export class ApiError extends Error {
  readonly status: number;
  /** The last part of the problem's `type`, such as `setup-closed`; empty where the server did not say. */
  readonly code: string;
  readonly detail: string;
  readonly faults: { pointer: string; detail: string }[];

  constructor(status: number, problem: Partial<Problem>) {
    const detail = problem.detail || problem.title || `The server answered with status ${status}.`;
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.code = problem.type?.split("/").at(-1) ?? "";
    this.detail = detail;
    this.faults = problem.errors ?? [];
  }
}

/**
 * What to do about a session that has ended: resolves once it is renewed, to whether it was. Set by `main.tsx`; until
 * then, and before anybody was signed in, the caller gets the problem.
 */
export const session: { renew: (() => Promise<boolean>) | null } = { renew: null };

type Options = {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  query?: Record<string, string | undefined>;
  signal?: AbortSignal;
};

/** Longer than any answer takes: the server is not there, or its connection is dead. */
const answerMaxMs = 60_000;

/** Calls the server; throws `ApiError` for every problem, and for a connection that failed (status 0). */
export async function api<Answer>(path: string, options: Options = {}): Promise<Answer> {
  const response = await respond(path, options);
  if (response.ok) return (await response.json()) as Answer;
  const error = new ApiError(response.status, await problemOf(response));
  const hasEnded = error.status === 401 && !path.startsWith("/api/auth/");
  if (!hasEnded || !(await session.renew?.())) throw error;
  options.signal?.throwIfAborted();
  return api(path, options);
}

async function respond(path: string, options: Options): Promise<Response> {
  const { method = "GET", body, query, signal } = options;
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(key, value);
  const url = search.size > 0 ? `${path}?${search}` : path;
  try {
    return await fetch(url, {
      method,
      credentials: "same-origin",
      headers: body === undefined ? {} : { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([AbortSignal.timeout(answerMaxMs), ...(signal ? [signal] : [])]),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, { detail: "Can't reach the server. Check your connection and try again." });
  }
}

async function problemOf(response: Response): Promise<Partial<Problem>> {
  try {
    return (await response.json()) as Partial<Problem>;
  } catch {
    // Not JSON, as from a proxy in front of the server: the status has to do.
    return {};
  }
}

/** Whether the same request may succeed later: the server could not be reached, or failed. */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500;
}

/** What to show for anything that was thrown. */
export function sentence(error: unknown): string {
  if (error instanceof ApiError) return error.detail;
  return error instanceof Error ? error.message : "Something went wrong.";
}
