import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import type { Store } from "../storage/store.ts";
import {
  DeliveryPage,
  DeliveryQuery,
  DeliveryResponse,
  DeliveryRetry,
  DeliveryRetryResponse,
} from "../wire/notification.ts";
import { listDeliveries, retryDeadDeliveries, retryDelivery } from "./deliveries.ts";

const tag = "Deliveries";

export function addDeliveryRoutes(
  routes: Routes,
  { store: { control }, deliveryWorker }: { store: Store; deliveryWorker: { wake: () => void } },
): void {
  routes.add(
    {
      method: "get",
      path: "/api/deliveries",
      by: "rules:read",
      tag,
      summary: "List deliveries, newest first",
      query: DeliveryQuery,
      response: DeliveryPage,
    },
    async ({ projectId, query }) => ({ ok: true, ...(await listDeliveries(control, projectId, query)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/deliveries/{id}/retry",
      by: "rules:manage",
      tag,
      summary: "Retry a dead delivery",
      description: "One that is older than a day is tried once.",
      query: ProjectQuery,
      response: DeliveryResponse,
      problems: [404, 409],
    },
    async ({ projectId, actor, parameter }) => {
      const delivery = await retryDelivery(control, projectId, parameter("id"), actor, Date.now());
      deliveryWorker.wake();
      return { ok: true, delivery };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/deliveries/retry",
      by: "rules:manage",
      tag,
      summary: "Retry all dead deliveries",
      query: ProjectQuery,
      body: DeliveryRetry,
      response: DeliveryRetryResponse,
    },
    async ({ projectId, actor, body: { destination } }) => {
      const retried = await retryDeadDeliveries(control, projectId, destination, actor, Date.now());
      deliveryWorker.wake();
      return { ok: true, retried };
    },
  );
}
