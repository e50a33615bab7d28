import type { LinesResponse } from "../../server/schemas/batch.ts";
import { ApiError, isTemporary, session } from "../api.ts";

/** Waits before each attempt to send lines again. */
const waitsMs = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000];

/**
 * Records events, one a line, that notify nobody. Sends them again while the server is unreachable or overloaded: each
 * has an ID, so it is recorded once. Throws an `ApiError`.
 */
export async function sendLines(
  project: string,
  lines: string[],
  signal: AbortSignal,
): Promise<LinesResponse> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await attemptToSend(project, lines, signal);
    } catch (error) {
      signal.throwIfAborted();
      const waitMs = waitsMs[attempt];
      if (error instanceof ApiError && error.status === 401 && (await session.renew?.())) continue;
      // A quota is not free again before the next day.
      const isOver = error instanceof ApiError && error.code === "quota-reached";
      if (!isTemporary(error) || isOver || waitMs === undefined) throw error;
      await pause(waitMs, signal);
    }
  }
}

async function attemptToSend(project: string, lines: string[], signal: AbortSignal): Promise<LinesResponse> {
  const response = await fetch(`/api/events?${new URLSearchParams({ project, silent: "true" })}`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/x-ndjson" },
    body: `${lines.join("\n")}\n`,
    signal,
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ApiError(0, { detail: `The server can't be reached. ${(error as Error).message}` });
  });
  const body: unknown = await response.json().catch(() => ({}));
  // With 422, all lines were rejected, but the request itself was valid.
  if (!isLinesResponse(body) || !(response.ok || response.status === 422)) {
    const problem = response.ok ? { detail: "The server's answer can't be read." } : (body as object);
    throw new ApiError(response.status, problem);
  }
  const cause = body.rejections.find(({ status }) => status >= 500 || [401, 403, 429].includes(status));
  if (cause) throw new ApiError(cause.status, cause);
  return body;
}

function isLinesResponse(body: unknown): body is LinesResponse {
  return typeof body === "object" && body !== null && "rejections" in body;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
