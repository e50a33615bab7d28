import { makeChange } from "../audit/changes.ts";
import { problem } from "../core/problems.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  InsightAddition,
  InsightList,
  InsightResponse,
  InsightSetting,
  InsightWithHistory,
  insightKey,
} from "../schemas/insight.ts";
import type { Store } from "../storage/store.ts";
import {
  addToInsight,
  deleteInsight,
  findInsight,
  insightPoints,
  listInsights,
  setInsight,
  unknownInsight,
} from "./insights.ts";

export function addInsightRoutes(routes: Routes, { store: { control } }: { store: Store }): void {
  routes.add(
    {
      method: "get",
      path: "/api/insights",
      by: "events:read",
      tag: "Insights",
      summary: "List insights",
      description: "Numbers that applications have set, by key, and which API key set each last.",
      query: ProjectQuery,
      response: InsightList,
    },
    async ({ projectId }) => ({ insights: await listInsights(control, projectId) }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/insights/{key}",
      by: "events:read",
      tag: "Insights",
      summary: "Get an insight and its history",
      query: ProjectQuery,
      response: InsightWithHistory,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const key = { projectId, key: parameter("key") };
      const insight = await findInsight(control, key);
      if (!insight) throw unknownInsight();
      return { insight, points: await insightPoints(control, key) };
    },
  );

  routes.add(
    {
      method: "put",
      path: "/api/insights/{key}",
      by: "insights:set",
      tag: "Insights",
      summary: "Set an insight",
      description: "An insight that is not known yet is created.",
      query: ProjectQuery,
      body: InsightSetting,
      response: InsightResponse,
      problems: [409],
    },
    async (call) => {
      const key = { projectId: call.projectId, key: keyOf(call.parameter("key")) };
      const insight = await setInsight(control, key, call.body, setterOf(call));
      return { insight: call.mayRead ? insight : { key: key.key, ...call.body } };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/insights/{key}",
      by: "insights:set",
      tag: "Insights",
      summary: "Add to an insight",
      description: "Additions at the same time all count. An insight that is not known yet begins at 0.",
      query: ProjectQuery,
      body: InsightAddition,
      response: InsightResponse,
      problems: [409],
    },
    async (call) => {
      const key = { projectId: call.projectId, key: keyOf(call.parameter("key")) };
      const insight = await addToInsight(control, key, call.body, setterOf(call));
      return { insight: call.mayRead ? insight : { key: key.key, ...call.body } };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/insights/{key}",
      by: "boards:change",
      tag: "Insights",
      summary: "Delete an insight and its history",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteInsight(change, call.parameter("key")));
    },
  );
}

function setterOf(access: Access) {
  return { nowMs: Date.now(), keyId: access.by === "key" ? access.keyId : null };
}

/** Throws `query-invalid` if no insight can have this key. */
function keyOf(text: string): string {
  const result = insightKey.safeParse(text);
  if (result.success) return result.data;
  throw problem("query-invalid", { detail: `The key ${result.error.issues[0]!.message}.` });
}
