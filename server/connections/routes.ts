import { roleMay } from "../core/permissions.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import { readerOf } from "../notifications/delivery-routes.ts";
import { ConnectionSummary } from "../schemas/connections.ts";
import type { Store } from "../storage/store.ts";
import { summarizeDeliveries, summarizeDestinations, summarizeKeys, summarizeWebhooks } from "./summary.ts";

type Deps = { store: Store; rejected: RejectedEvents };

export function addConnectionRoutes(routes: Routes, { store: { control }, rejected }: Deps): void {
  routes.add(
    {
      method: "get",
      path: "/api/connections",
      operationId: "summarizeConnections",
      by: "rules:read",
      tag: "Connections",
      summary: "Count keys, webhooks, rejected events, destinations and deliveries by their state",
      query: ProjectQuery,
      response: ConnectionSummary,
    },
    async (access) => {
      const { projectId } = access;
      const [keys, webhooks, rejectedEvents, destinations, deliveries] = await Promise.all([
        managesKeys(access) ? summarizeKeys(control, projectId, Date.now()) : null,
        summarizeWebhooks(control, projectId),
        rejected.count(projectId),
        summarizeDestinations(control, projectId),
        summarizeDeliveries(control, readerOf(access)),
      ]);
      return { keys, webhooks, rejected: rejectedEvents, destinations, deliveries };
    },
  );
}

/** API keys manage none. */
function managesKeys(access: Access): boolean {
  return access.by === "account" && roleMay(access.role, "keys:manage");
}
