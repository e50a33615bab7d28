import type { Routes } from "../http/routes.ts";
import { addCloudEventsRoutes, cloudEventsPath } from "./cloudevents/routes.ts";
import { addLogSnagRoutes, logSnagPaths } from "./logsnag/routes.ts";
import { addOtlpRoutes, otlpPath } from "./otlp/routes.ts";
import { addPostHogRoutes, postHogPaths } from "./posthog/routes.ts";
import { createReceive, type DropInDeps } from "./receive.ts";
import { addSegmentRoutes, segmentPaths } from "./segment/routes.ts";
import { addSlackRoutes } from "./slack/routes.ts";

/** Paths that pages of other sites may call. Slack's isn't one: its key would be in the page. */
export const dropInPathsOfBrowsers = [
  ...segmentPaths,
  ...postHogPaths,
  ...logSnagPaths,
  otlpPath,
  cloudEventsPath,
];

/** Endpoints for the clients of other services, so that moving here is a change of address and key. */
export function addDropInRoutes(routes: Routes, deps: DropInDeps): void {
  const receive = createReceive(deps);
  addSegmentRoutes(routes, receive);
  addOtlpRoutes(routes, receive);
  addPostHogRoutes(routes, receive);
  addSlackRoutes(routes, receive);
  addCloudEventsRoutes(routes, receive);
  addLogSnagRoutes(routes, receive);
}
