import type { ConflictProblem, LastChange } from "../server/core/problems.ts";

/** A request that the server rejected or that did not reach it. `detail` is a sentence to show to the user. */
export class ApiError extends Error {
  readonly status: number;
  /** The last part of the problem's `type`, such as `setup-closed`; empty if the server did not send one. */
  readonly code: string;
  readonly detail: string;
  readonly errors: { pointer: string; detail: string }[];
  /** If older events can't be read: those from this time on can. */
  readonly availableFrom: string | undefined;
  /** The current version, if somebody changed it after editing began. */
  readonly current: unknown;
  /** Its last change, or its deletion, if that is known. */
  readonly change: LastChange | undefined;

  constructor(status: number, problem: Partial<ConflictProblem>) {
    const detail = problem.detail || problem.title || `The server answered with status ${status}.`;
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.code = problem.type?.split("/").at(-1) ?? "";
    this.detail = detail;
    this.errors = problem.errors ?? [];
    this.availableFrom = problem.availableFrom;
    this.current = problem.current;
    this.change = problem.change;
  }
}

/**
 * `renew` is called when a session has ended, and resolves to whether it was renewed. `account/session.ts` sets it.
 * Without it, and before anybody has signed in, the caller gets the error.
 */
export const session: { renew: (() => Promise<boolean>) | null } = { renew: null };

type Options = {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  query?: Record<string, string | undefined>;
  /** The version that editing began with. The server changes no other one. */
  version?: string;
  signal?: AbortSignal;
  /** Called with how much is done, from 0 to 1, for the routes that report it. */
  onProgress?: (share: number) => void;
};

/** Longer than any response takes: after this, the server is unreachable or the connection is dead. */
const requestTimeoutMs = 60_000;

/** Calls the server. Throws `ApiError` for every error response, and for a failed connection (status 0). */
export async function api<Result>(path: string, options: Options = {}): Promise<Result> {
  const response = await send(path, options);
  if (response.ok) return resultOf<Result>(response, options);
  const error = new ApiError(response.status, await problemOf(response));
  const hasEnded = error.status === 401 && !path.startsWith("/api/auth/");
  if (!hasEnded || !(await session.renew?.())) throw error;
  options.signal?.throwIfAborted();
  return api(path, options);
}

async function resultOf<Result>(response: Response, { onProgress }: Options): Promise<Result> {
  if (!onProgress || !response.headers.get("content-type")?.startsWith("text/event-stream"))
    return (await response.json()) as Result;
  const { readProgress } = await import("./progress.ts");
  return readProgress<Result>(response, onProgress);
}

async function send(path: string, options: Options): Promise<Response> {
  const { method = "GET", body, query, version, signal, onProgress } = options;
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(key, value);
  const url = search.size > 0 ? `${path}?${search}` : path;
  try {
    return await fetch(url, {
      method,
      credentials: "same-origin",
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(version !== undefined && { "if-match": `"${version}"` }),
        ...(onProgress && { accept: "text/event-stream" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([AbortSignal.timeout(requestTimeoutMs), ...(signal ? [signal] : [])]),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, { detail: "Can't reach the server. Check your connection and try again." });
  }
}

async function problemOf(response: Response): Promise<Partial<ConflictProblem>> {
  try {
    return (await response.json()) as Partial<ConflictProblem>;
  } catch {
    // Not JSON, for example from a proxy in front of the server: only the status is known.
    return {};
  }
}

/** Whether the same request may succeed later: the server was unreachable, overloaded or failed. */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500;
}

/** The text to show for anything that was thrown. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiError) return error.detail;
  return error instanceof Error ? error.message : "Something went wrong.";
}
