import { eventLimits, fitLines } from "./event-text.ts";
import type { TagValue, TidingsClient, TrackedEvent } from "./index.ts";

/** How `@tidings/client/express`, `/hono` and `/fastify` report requests. */
export type RequestEventOptions<Request> = {
  /** Default: `requests`. */
  channel?: string;
  /** Reports only requests that failed: with an error, or a status from 500. Default: false. */
  onlyFailed?: boolean;
  /** Requests not to report, such as health checks. */
  ignore?: (request: Request) => boolean;
  /** The user of your application who sent the request. */
  userId?: (request: Request) => string | undefined;
  /** Further tags. */
  tags?: (request: Request) => Record<string, TagValue>;
};

type FinishedRequest = {
  method: string;
  /** The route's pattern, such as `/orders/:id`; paths can have personal data. */
  route: string | undefined;
  status: number;
  durationMs: number;
  error?: unknown;
};

/** Captures a finished request. Never throws: an error of an option's function is logged. */
export function captureRequest<Request>(
  client: Pick<TidingsClient, "capture">,
  request: Request,
  { method, route, status, durationMs, error }: FinishedRequest,
  { channel = "requests", onlyFailed = false, ignore, userId, tags }: RequestEventOptions<Request>,
): void {
  try {
    const isFailed = status >= 500;
    if ((onlyFailed && !isFailed) || ignore?.(request)) return;
    const user = userId?.(request);
    const event: TrackedEvent = {
      channel,
      name: isFailed ? "Request failed" : "Request finished",
      ...(user !== undefined && { userId: user }),
      tags: {
        method,
        route,
        status,
        durationMs: Math.round(durationMs),
        error: isFailed && error ? fitLines(String(error), eventLimits.tagValue) : undefined,
        ...tags?.(request),
      },
    };
    client.capture(event);
  } catch (thrown) {
    console.error(thrown);
  }
}
