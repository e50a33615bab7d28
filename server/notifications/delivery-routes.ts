import { makeChange } from "../audit/changes.ts";
import { roleMay } from "../core/permissions.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import {
  DeliveryPage,
  DeliveryQuery,
  DeliveryResponse,
  DeliveryRetry,
  DeliveryRetryResponse,
} from "../schemas/delivery.ts";
import { RuleTestResponse } from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import {
  countDead,
  type DeliveryReader,
  listDeliveries,
  retryDeadDeliveries,
  retryDelivery,
} from "./deliveries.ts";
import type { RecentEvents } from "./recent-events.ts";
import { testRule } from "./rule-test.ts";

const tag = "Deliveries";

export function addDeliveryRoutes(
  routes: Routes,
  {
    store: { control },
    recentEvents,
    deliveryWorker,
  }: { store: Store; recentEvents: Pick<RecentEvents, "find">; deliveryWorker: { wake: () => void } },
): void {
  routes.add(
    {
      method: "post",
      path: "/api/rules/{id}/test",
      operationId: "testRule",
      by: "rules:manage",
      tag: "Rules",
      summary: "Send a test to all whom a rule notifies",
      description:
        "A marked message goes the way of the rule's messages: by the preferences of members and to the project's destinations. Its deliveries are listed like others. A rule that is off is tested, too.",
      query: ProjectQuery,
      response: RuleTestResponse,
      problems: [404],
    },
    async (call) => {
      const result = await makeChange(control, call, (change) => testRule(change, call.parameter("id")));
      deliveryWorker.wake();
      return result;
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/deliveries",
      by: "rules:read",
      tag,
      summary: "List deliveries, newest first",
      description:
        "Members who can't manage rules see the deliveries to the project's destinations, and those to themselves.",
      query: DeliveryQuery,
      response: DeliveryPage,
    },
    async ({ query, ...access }) => {
      const reader = readerOf(access);
      return {
        ...(await listDeliveries(control, recentEvents, reader, query)),
        dead: await countDead(control, reader),
      };
    },
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
      return { delivery };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/deliveries/retry",
      by: "rules:manage",
      tag,
      summary: "Retry all dead deliveries, or those of a filter",
      query: ProjectQuery,
      body: DeliveryRetry,
      response: DeliveryRetryResponse,
    },
    async ({ projectId, actor, body }) => {
      const retried = await retryDeadDeliveries(control, projectId, body, actor, Date.now());
      deliveryWorker.wake();
      return { retried };
    },
  );
}

/** Who manages rules sees all deliveries of the project. So do API keys, which belong to it. */
export function readerOf(access: Access): DeliveryReader {
  const { projectId } = access;
  const seesAll = access.by === "key" || roleMay(access.role, "rules:manage");
  return { projectId, accountId: seesAll ? null : access.account.id };
}
