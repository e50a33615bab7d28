import type { Logger } from "pino";
import { errorResponse, type FailureLog } from "../http/failures.ts";
import { requestId, routePath } from "../http/request-info.ts";
import type { Store } from "../storage/store.ts";
import type { Metrics } from "./metrics.ts";

type Deps = {
  metrics: Metrics | null;
  log: Logger;
  failures: FailureLog;
  /** Slower requests are logged; 0 for none. */
  slowMs: number;
  store: Store;
};

/** Gives each request its id, measures it, and logs slow ones. */
export class RequestObserver {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** @param route - if it is known before the request is handled */
  async observe(request: Request, route: string | null, handle: () => Promise<Response>): Promise<Response> {
    const { failures, metrics, slowMs } = this.#deps;
    const startMs = performance.now();
    const response = await handle().catch((error) => errorResponse(error, failures, request));
    response.headers.set("x-request-id", requestId(request));
    const ms = performance.now() - startMs;
    if (metrics || (slowMs > 0 && ms > slowMs)) this.#report(request, route, response.status, ms);
    return response;
  }

  #report(request: Request, route: string | null, status: number, ms: number): void {
    const { metrics, log, slowMs, store } = this.#deps;
    const { method } = request;
    const path = route ?? routePath(request) ?? "other";
    metrics?.observeRequest({ method, route: path, status, seconds: ms / 1_000 });
    if (slowMs === 0 || ms <= slowMs) return;
    // A long queue means that storage is slow; without one, the work itself or the client's body was.
    const waiting = store.events.waiting;
    log.warn(
      { requestId: requestId(request), method, route: path, status, ms: Math.round(ms), waiting },
      "slow request",
    );
  }
}
