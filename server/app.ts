import { cors } from "hono/cors";
import { addAccountRoutes } from "./accounts/routes.ts";
import { addChannelRoutes } from "./channels/routes.ts";
import { addRejectedEventRoutes } from "./events/rejected-routes.ts";
import { addEventRoutes } from "./events/routes.ts";
import type { House } from "./house.ts";
import { addJobRoutes } from "./jobs/routes.ts";
import { addKeyRoutes } from "./keys/routes.ts";
import { addNotificationRoutes } from "./notifications/routes.ts";
import { addPages } from "./pages.ts";
import { addProjectRoutes } from "./projects/routes.ts";
import { Routes } from "./routes.ts";
import { addSearchRoutes } from "./search/routes.ts";
import { addStatsRoutes } from "./stats/routes.ts";
import { addStatusRoutes } from "./status.ts";
import { addUserRoutes } from "./users/routes.ts";
import { answerError } from "./wire/answer-error.ts";
import { dataHeaders, problem } from "./wire/problems.ts";

/** All routes. */
export function createApp(house: House): { fetch: (request: Request) => Response | Promise<Response> } {
  const routes = new Routes(house.gate);
  const { app } = routes;

  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(dataHeaders)) if (!headers.has(name)) headers.set(name, value);
  });

  // An API key is sent on purpose, so pages of other sites may use one; a session's cookie never comes along with them.
  for (const path of [
    "/api/events",
    "/api/events/*",
    "/api/search/*",
    "/api/channels",
    "/api/channels/*",
    "/api/stats",
    "/api/users",
    "/api/users/*",
    "/api/jobs/*",
  ])
    app.use(path, cors({ origin: "*", exposeHeaders: ["x-next-cursor"] }));

  addRejectedEventRoutes(routes, house); // /api/events/rejected …
  addEventRoutes(routes, house); //        /api/events …
  addSearchRoutes(routes, house); //       /api/search …
  addChannelRoutes(routes, house); //      /api/channels
  addUserRoutes(routes, house); //         /api/users …
  addStatsRoutes(routes, house); //        /api/stats
  addKeyRoutes(routes, house); //          /api/keys …
  addProjectRoutes(routes, house); //      /api/projects …
  addJobRoutes(routes, house); //          /api/jobs … and what is done by a job
  addNotificationRoutes(routes, house); // /api/notifications … /api/destinations …
  addAccountRoutes(routes, house); //      /api/me /api/setup /api/auth …
  addStatusRoutes(routes, house); //       /healthz /readyz /openapi.json

  app.all("/api/*", ({ req }) => {
    throw unknown(req);
  });
  addPages(app); // everything else is the dashboard, where it has such a page
  app.notFound(({ req }) => {
    throw unknown(req);
  });
  function unknown({ method, path }: { method: string; path: string }) {
    const allow = routes.methodsOf(path);
    return allow.length > 0
      ? problem("method-unknown", { detail: `${path} allows ${allow.join(", ")}, not ${method}.`, allow })
      : problem("route-unknown", {
          detail: `There is no ${method} ${path}. See /openapi.json for all paths.`,
        });
  }

  app.onError((error) => answerError(error, house.failures));
  return app;
}
