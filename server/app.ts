import { cors } from "hono/cors";
import { addAlertRoutes } from "./alerts/routes.ts";
import { addAnnotationRoutes } from "./annotations/routes.ts";
import { findLastChange } from "./audit/audit-log.ts";
import { addAuditRoutes } from "./audit/routes.ts";
import { addAccountRoutes } from "./auth/account-routes.ts";
import { addAuthRoutes } from "./auth/auth-routes.ts";
import { addKeyRoutes } from "./auth/key-routes.ts";
import { withoutSecretKeys } from "./auth/key-secret.ts";
import { addPasskeyRoutes } from "./auth/passkey-routes.ts";
import { addSessionRoutes } from "./auth/session-routes.ts";
import { addSignUpRoutes } from "./auth/sign-up-routes.ts";
import { addJobRoutes } from "./background/routes.ts";
import { addPublicBoardRoutes } from "./boards/public-routes.ts";
import { addBoardRoutes } from "./boards/routes.ts";
import { addChannelRoutes } from "./channels/routes.ts";
import { addCohortRoutes } from "./cohorts/routes.ts";
import { addConnectionRoutes } from "./connections/routes.ts";
import { dataHeaders, problem } from "./core/problems.ts";
import { answerHandshake, cloudEventsPath } from "./drop-in/cloudevents/routes.ts";
import { addDropInRoutes, dropInPathsOfBrowsers } from "./drop-in/routes.ts";
import { addBeforeRoute } from "./events/before-route.ts";
import { addEventRoutes } from "./events/routes.ts";
import { addGroupRoutes } from "./groups/routes.ts";
import { addBadgeRoutes } from "./heartbeats/badge-routes.ts";
import { addPingRoutes } from "./heartbeats/ping-routes.ts";
import { addHeartbeatRoutes } from "./heartbeats/routes.ts";
import { addPages } from "./http/dashboard-files.ts";
import { errorResponse } from "./http/failures.ts";
import { Routes } from "./http/routes.ts";
import { dataPolicy, everyResponse } from "./http/security-headers.ts";
import { addRejectedEventRoutes } from "./ingest/rejected-routes.ts";
import { addInsightRoutes } from "./insights/routes.ts";
import { addInteractionRoutes } from "./interactions/routes.ts";
import { addInvitationRoutes } from "./invitations/routes.ts";
import { addMcpRoutes } from "./mcp/routes.ts";
import { addDestinationRoutes } from "./notifications/account-destination-routes.ts";
import { addDeliveryRoutes } from "./notifications/delivery-routes.ts";
import { addPreferenceRoutes } from "./notifications/preference-routes.ts";
import { addProjectDestinationRoutes } from "./notifications/project-destination-routes.ts";
import { addNotificationRoutes } from "./notifications/routes.ts";
import { addOnCallRoutes } from "./on-call/routes.ts";
import { addPeopleRoutes } from "./people/routes.ts";
import type { Services } from "./process/services.ts";
import { addStatusRoutes } from "./process/status.ts";
import { addMemberRoutes } from "./projects/member-routes.ts";
import { addProjectRoutes } from "./projects/routes.ts";
import { addPictureRoutes } from "./reports/picture-routes.ts";
import { addReportRoutes } from "./reports/routes.ts";
import { addRuleRoutes } from "./rules/routes.ts";
import { addSearchRoutes } from "./search/routes.ts";
import { addSilenceRoutes } from "./silences/routes.ts";
import { addActivityRoutes } from "./stats/activity-routes.ts";
import { addPathRoutes } from "./stats/path-routes.ts";
import { addStatsRoutes } from "./stats/routes.ts";
import { addCountedUserRoutes } from "./stats/user-routes.ts";
import { addAboutUserRoutes } from "./users/about-routes.ts";
import { addUserRoutes } from "./users/routes.ts";
import { addViewRoutes } from "./views/routes.ts";
import { addWebhookRoutes } from "./webhooks/routes.ts";
import { addWebsiteRoutes, websitePaths } from "./website/routes.ts";

export type App = {
  fetch: (request: Request) => Response | Promise<Response>;
  /** The routes that are declared with who may call them. */
  declared: Routes["declared"];
  /** All handlers, whether they are declared or not. */
  handlers: { method: string; path: string }[];
};

/** How long browsers may remember a preflight; Chromium does for at most two hours. */
const preflightSeconds = 7_200;

/** @param recordEvents - `POST /api/events`, which Bun's own router handles */
export function createApp(services: Services, recordEvents: (request: Request) => Promise<Response>): App {
  const routes = new Routes(
    services.authorizer,
    services.addressOf,
    services.setRequestTimeout,
    (projectId, thing, key) => findLastChange(services.store.control, projectId, thing, key),
  );
  const { app } = routes;

  app.use(async (context, next) => {
    await next();
    const { headers, status } = context.res;
    // A browser adds the headers of a 304 to what it has stored, so a page would get the policy of data. Scripts and
    // styles have the policy of the page that loads them.
    const hasPolicy = status === 304 || context.req.path.startsWith("/assets/");
    const missing = {
      ...dataHeaders,
      ...everyResponse,
      ...(!hasPolicy && { "content-security-policy": dataPolicy }),
    };
    for (const [name, value] of Object.entries(missing)) if (!headers.has(name)) headers.set(name, value);
  });

  // Before the preflights of browsers, which are OPTIONS requests too.
  app.use(cloudEventsPath, async ({ req }, next) => answerHandshake(req.raw) ?? next());

  // API keys are sent on purpose, so pages of other sites may use them. Session cookies are never sent with such
  // requests. A preflight comes without the key, and names the page's origin as the answer to a publishable key does.
  for (const path of [
    "/api/events",
    "/api/events/*",
    "/api/search/*",
    "/api/channels",
    "/api/channels/*",
    "/api/stats",
    "/api/funnel",
    "/api/retention",
    "/api/paths",
    "/api/stickiness",
    "/api/lifecycle",
    "/api/boards",
    "/api/boards/*",
    "/api/annotations",
    "/api/annotations/*",
    "/api/insights",
    "/api/insights/*",
    "/api/identify",
    "/api/alias",
    "/api/users",
    "/api/groups",
    "/api/groups/*",
    "/api/group-types",
    "/api/cohorts",
    "/api/cohorts/*",
    "/api/users/*",
    "/api/jobs/*",
    "/api/audit",
    "/api/alerts",
    "/api/alerts/*",
    "/api/silences",
    "/api/silences/*",
    "/api/on-call",
    "/api/on-call/*",
    "/api/deliveries",
    "/api/deliveries/*",
    "/api/destination-kinds",
    "/api/project-destinations",
    "/api/project-destinations/*",
    ...dropInPathsOfBrowsers,
    "/api/connections",
    "/api/webhooks",
    "/api/webhooks/*",
    "/api/reports",
    "/api/reports/*",
    "/api/heartbeats",
    "/api/heartbeats/*",
    "/mcp",
    ...websitePaths,
  ])
    app.use(
      path,
      cors({
        origin: (origin, { req }) => (req.method === "OPTIONS" && origin) || "*",
        exposeHeaders: ["x-next-cursor", "x-request-id"],
        maxAge: preflightSeconds,
      }),
    );

  addRejectedEventRoutes(routes, services); ///api/events/rejected …
  addEventRoutes(routes, services); //        /api/events …
  addBeforeRoute(routes, services); //        /api/events/{id}/before
  addSearchRoutes(routes, services); //       /api/search …
  addChannelRoutes(routes, services); //      /api/channels
  addViewRoutes(routes, services); //         /api/views … /api/sidebar …
  addUserRoutes(routes, services); //         /api/users …
  addAboutUserRoutes(routes, services); //    /api/users/{userId}/notes …/cohorts
  addPeopleRoutes(routes, services); //       /api/identify /api/alias /api/users/{userId}/merge …/split
  addGroupRoutes(routes, services); //        /api/groups … /api/group-types /api/users/{userId}/groups
  addCohortRoutes(routes, services); //       /api/cohorts …
  addStatsRoutes(routes, services); //        /api/stats, /api/funnel, /api/retention
  addPathRoutes(routes, services); //         /api/paths
  addActivityRoutes(routes, services); //     /api/stickiness … /api/lifecycle …
  addCountedUserRoutes(routes, services); //  /api/stats/users … /api/paths/users
  addBoardRoutes(routes, services); //        /api/boards …
  addPublicBoardRoutes(routes, services); //  /api/public/boards …
  addAnnotationRoutes(routes, services); //   /api/annotations …
  addInsightRoutes(routes, services); //      /api/insights …
  addKeyRoutes(routes, services); //          /api/keys …
  addProjectRoutes(routes, services); //      /api/projects …
  addMemberRoutes(routes, services); //       /api/members … /api/projects/{slug}/leave …/transfer
  addInvitationRoutes(routes, services); //   /api/invitations …
  addAuditRoutes(routes, services); //        /api/audit
  addJobRoutes(routes, services); //          /api/jobs …
  addRuleRoutes(routes, services); //         /api/rules …
  addAlertRoutes(routes, services); //        /api/alerts … /api/alert-links … /alert …
  addInteractionRoutes(routes, services); //  /interactions …
  addSilenceRoutes(routes, services); //      /api/silences …
  addOnCallRoutes(routes, services); //       /api/on-call …
  addNotificationRoutes(routes, services); // /api/notifications …
  addDestinationRoutes(routes, services); //  /api/destinations …
  addPreferenceRoutes(routes, services); //   /api/preferences … /api/unsubscribe … /unsubscribe …
  addDeliveryRoutes(routes, services); //     /api/deliveries …
  addProjectDestinationRoutes(routes, services); // /api/project-destinations … /api/destination-kinds
  addWebhookRoutes(routes, services); //      /api/webhooks … /hooks …
  addHeartbeatRoutes(routes, services); //    /api/heartbeats …
  addPingRoutes(routes, services); //         /ping …
  addBadgeRoutes(routes, services); //        /badge …
  addReportRoutes(routes, services); //       /api/reports …
  addPictureRoutes(routes, services); //      /reports …
  addConnectionRoutes(routes, services); //   /api/connections
  addAccountRoutes(routes, services); //      /api/me /api/account …
  addPasskeyRoutes(routes, services); //      /api/account/passkeys …
  addSessionRoutes(routes, services); //      /api/sessions …
  addSignUpRoutes(routes, services); //       /api/setup /api/sign-in /api/sign-up … /api/password-reset
  addAuthRoutes(routes, services); //         /api/auth …
  addDropInRoutes(routes, services); //       /v1/batch /v1/logs /v1/log /batch/ /cloudevents /slack/{key} …
  addWebsiteRoutes(routes, services); //      /t.js /t /s/{name} …
  addStatusRoutes(routes, services); //       /healthz /readyz /openapi.json

  // The other tools that change something send POST requests, too.
  addMcpRoutes(routes, async (request) =>
    request.method === "POST" && new URL(request.url).pathname === "/api/events"
      ? recordEvents(request).catch((error) => errorResponse(error, services.failures, request))
      : app.fetch(request),
  ); //                                       /mcp

  app.all("/api/*", ({ req }) => {
    throw unknown(req);
  });
  addPages(app); // everything else is the dashboard
  app.notFound(({ req }) => {
    throw unknown(req);
  });

  function unknown({ method, path }: { method: string; path: string }) {
    const allowed = routes.allowedAt(path);
    // A path can have a key in it, so the declared one is named.
    return allowed
      ? problem("method-unknown", {
          detail: `${allowed.path} allows ${allowed.methods.join(", ")}, not ${method}.`,
          allow: allowed.methods,
        })
      : problem("route-unknown", {
          detail: `There is no ${method} ${withoutSecretKeys(path)}. See /openapi.json for all paths.`,
        });
  }

  app.onError((error, { req }) => errorResponse(error, services.failures, req.raw));
  return { fetch: (request) => app.fetch(request), declared: routes.declared, handlers: app.routes };
}

/** The app without services. Its routes can be listed and described, but not called. */
export function describedApp(): App {
  const empty = new Proxy(() => {}, {
    get: (_, name): unknown => (name === "then" ? undefined : empty),
    apply: (): unknown => empty,
  }) as unknown as Services;
  return createApp(empty, async () => new Response());
}
