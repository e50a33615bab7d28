import { ProblemError, problem } from "../core/problems.ts";
import { requestSignal, withDeadline } from "../scheduling/deadline.ts";

/** How a long computation is followed. */
export type Progress = {
  /** Aborted when the client is gone. */
  signal: AbortSignal;
  /** Reports how much is done, from 0 to 1. */
  onProgress: (share: number) => void;
};

export const progressType = "text/event-stream";

/** A note in the API description of routes that use `withProgress`. */
export const progressNote =
  "With `Accept: text/event-stream`, the response is Server-Sent Events: `progress` with `done`, from 0 to 1, and then `result`, or `problem`.";

/** The progress of one of several steps that follow each other: its 0 to 1 is `from` to `to` of the whole. */
export function stepOf({ signal, onProgress }: Progress, from: number, to: number): Progress {
  return { signal, onProgress: (share) => onProgress(from + share * (to - from)) };
}

/**
 * Computes a response. With `Accept: text/event-stream` it is sent as Server-Sent Events: `progress` with `done` from 0
 * to 1, and then `result`, or `problem` with what the response would have been. As in responses of routes, `ok: true` is
 * added to the result.
 *
 * @param onError - called with an error after the response began
 */
export async function withProgress<Result extends object>(
  request: Request,
  compute: (progress: Progress) => Promise<Result>,
  onError: (error: unknown) => void,
): Promise<Result | Response> {
  if (!request.headers.get("accept")?.includes(progressType)) {
    return compute({ signal: requestSignal() ?? request.signal, onProgress: () => {} });
  }
  const headers = {
    "content-type": progressType,
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    vary: "accept",
  };
  if (request.method === "HEAD") return new Response(null, { headers });
  const gone = new AbortController();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (event: string, data: object) => {
        if (!gone.signal.aborted)
          controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
      };
      const onProgress = (share: number) => send("progress", { done: Math.round(share * 1_000) / 1_000 });
      onProgress(0);
      try {
        // The request's own deadline ended with the beginning of its response.
        const result = await withDeadline(gone.signal, () =>
          compute({ signal: requestSignal()!, onProgress }),
        );
        send("result", { ok: true, ...result });
      } catch (error) {
        if (gone.signal.aborted) return;
        onError(error);
        const failed =
          error instanceof ProblemError
            ? error
            : problem("internal", { detail: "The server failed. See its log." });
        send("problem", failed.toProblem());
      }
      if (!gone.signal.aborted) controller.close();
    },
    cancel: () => gone.abort(),
  });
  return new Response(body, { headers });
}
