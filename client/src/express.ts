import type { TidingsClient } from "./index.ts";
import { captureRequest, type RequestEventOptions } from "./request-events.ts";

export type { RequestEventOptions } from "./request-events.ts";

/** The parts of Express that are used, so that its types are not needed. */
export type ExpressRequest = { method: string; baseUrl: string; route?: { path?: unknown } };
export type ExpressResponse = { statusCode: number; once(event: "close", listener: () => void): unknown };
type Next = (error?: unknown) => void;

const errors = new WeakMap<object, unknown>();

/**
 * Captures an event for each request.
 *
 * @example
 * app.use(reportRequests(tidings, { ignore: (request) => request.path === "/healthz" }));
 */
export function reportRequests<Request extends ExpressRequest>(
  client: Pick<TidingsClient, "capture">,
  options: RequestEventOptions<Request> = {},
): (request: Request, response: ExpressResponse, next: Next) => void {
  return (request, response, next) => {
    const startMs = performance.now();
    response.once("close", () => {
      const path = request.route?.path;
      const finished = {
        method: request.method,
        route: path === undefined ? undefined : request.baseUrl + String(path),
        status: response.statusCode,
        durationMs: performance.now() - startMs,
        error: errors.get(response),
      };
      captureRequest(client, request, finished, options);
    });
    next();
  };
}

/**
 * Notes errors for the events of `reportRequests`. Goes after all routes.
 *
 * @example
 * app.use(reportErrors());
 */
export function reportErrors(): (
  error: unknown,
  request: ExpressRequest,
  response: ExpressResponse,
  next: Next,
) => void {
  return (error, _, response, next) => {
    errors.set(response, error);
    next(error);
  };
}
