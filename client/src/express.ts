import type { TidingsClient } from "./index.ts";
import { captureRequest, type RequestEventOptions } from "./request-events.ts";

export type { RequestEventOptions } from "./request-events.ts";

/** The parts of Express that are used, so that its types are not needed. */
export type ExpressRequest = { method: string; baseUrl?: string; route?: { path?: unknown } };
export type ExpressResponse = { statusCode: number; once(event: "close", listener: () => void): unknown };
type Next = (error?: unknown) => void;

const errors = new WeakMap<object, unknown>();
/** The patterns of requests' routes, by request. */
const patterns = new WeakMap<object, { pattern?: string }>();

/**
 * Notes the pattern when Express chooses the route. Once a router has passed on an error, the request has lost the base
 * path of that router.
 */
function patternOf(request: ExpressRequest): { pattern?: string } {
  const known = patterns.get(request);
  if (known) return known;
  const noted: { pattern?: string } = {};
  patterns.set(request, noted);
  let route: ExpressRequest["route"];
  const choose = (chosen: ExpressRequest["route"]) => {
    route = chosen;
    if (chosen?.path !== undefined) noted.pattern = (request.baseUrl ?? "") + String(chosen.path);
  };
  choose(request.route);
  Object.defineProperty(request, "route", {
    configurable: true,
    enumerable: true,
    get: () => route,
    set: choose,
  });
  return noted;
}

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
    const noted = patternOf(request);
    response.once("close", () => {
      const finished = {
        method: request.method,
        route: noted.pattern,
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
