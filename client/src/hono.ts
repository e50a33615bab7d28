import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { TidingsClient } from "./index.ts";
import { captureRequest, type RequestEventOptions } from "./request-events.ts";

export type { RequestEventOptions } from "./request-events.ts";

/**
 * Captures an event for each request. On edge workers, call `context.executionCtx.waitUntil(tidings.flush())` too.
 *
 * @example
 * app.use(reportRequests(tidings, { userId: (context) => context.get("userId") }));
 */
export function reportRequests(
  client: Pick<TidingsClient, "capture">,
  options: RequestEventOptions<Context> = {},
): MiddlewareHandler {
  return async (context, next) => {
    const startMs = performance.now();
    await next();
    const finished = {
      method: context.req.method,
      route: routePath(context, -1),
      status: context.res.status,
      durationMs: performance.now() - startMs,
      error: context.error,
    };
    captureRequest(client, context, finished, options);
  };
}
