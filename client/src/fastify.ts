import type { FastifyPluginCallback, FastifyRequest } from "fastify";
import type { TidingsClient } from "./index.ts";
import { captureRequest, type RequestEventOptions } from "./request-events.ts";

export type { RequestEventOptions } from "./request-events.ts";

const errors = new WeakMap<object, unknown>();

/**
 * A plugin that captures an event for each request, of all routes.
 *
 * @example
 * await app.register(reportRequests(tidings, { onlyFailed: true }));
 */
export function reportRequests(
  client: Pick<TidingsClient, "capture">,
  options: RequestEventOptions<FastifyRequest> = {},
): FastifyPluginCallback {
  const plugin: FastifyPluginCallback = (app, _, done) => {
    app.addHook("onError", (request, __, error, next) => {
      errors.set(request, error);
      next();
    });
    app.addHook("onResponse", (request, reply, next) => {
      const finished = {
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        durationMs: reply.elapsedTime,
        error: errors.get(request),
      };
      captureRequest(client, request, finished, options);
      next();
    });
    done();
  };
  // Otherwise the hooks would apply only to routes inside this plugin.
  return Object.assign(plugin, { [Symbol.for("skip-override")]: true });
}
