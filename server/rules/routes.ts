import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  ForgottenValue,
  NewRule,
  RuleChange,
  RuleDraft,
  RuleList,
  RulePreviewQuery,
  RulePreviewResponse,
  RuleResponse,
  RuleValueList,
  RuleValueListQuery,
} from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import { forgetValue, listValues } from "./listed-values.ts";
import { changeRule, createRule, deleteRule, findRule, listRules, ruleOf } from "./rules.ts";
import { previewStored } from "./stored-preview.ts";
import type { WatchedEventsCache } from "./watched-events.ts";

export function addRuleRoutes(
  routes: Routes,
  {
    store,
    watchedEvents,
    fanOut,
    monitorWorker,
  }: {
    store: Store;
    watchedEvents: WatchedEventsCache;
    fanOut: { wake(): void };
    monitorWorker: { wake(): void };
  },
): void {
  const { control } = store;
  /** From now on, events are compared with the changed rules, and what they wait for has another time. */
  function changed(projectId: number): void {
    watchedEvents.invalidate(projectId);
    fanOut.wake();
    monitorWorker.wake();
  }

  async function preview(projectId: number, draft: RuleDraft, request: Request) {
    const { timeZone } = await control
      .selectFrom("projects")
      .select("timeZone")
      .where("id", "=", projectId)
      .executeTakeFirstOrThrow();
    const asked = { ...draft, projectId, timeZone: timeZone ?? "UTC" };
    return previewStored(store, asked, Date.now(), request.signal);
  }

  routes.add(
    {
      method: "get",
      path: "/api/rules",
      by: "rules:read",
      tag: "Rules",
      summary: "List rules, oldest first",
      query: ProjectQuery,
      response: RuleList,
    },
    async ({ projectId }) => ({ rules: await listRules(control, projectId) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/rules",
      by: "rules:manage",
      tag: "Rules",
      summary: "Create a rule",
      description: "It begins now: earlier events don't count.",
      query: ProjectQuery,
      body: NewRule,
      status: 201,
      response: RuleResponse,
      problems: [409],
    },
    async (call) => {
      const rule = await makeChange(control, call, (change) => createRule(change, call.body));
      changed(call.projectId);
      return { rule };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/rules/preview",
      by: "rules:manage",
      tag: "Rules",
      summary: "Show the alerts that a rule would have raised",
      description:
        "On the events of the last seven days, or of 30 days if it is about a metric. Nothing is sent or saved.",
      query: ProjectQuery,
      body: RuleDraft,
      response: RulePreviewResponse,
      problems: [422, 503],
    },
    ({ projectId, request, body }) => preview(projectId, body, request),
  );

  routes.add(
    {
      method: "get",
      path: "/api/rules/{id}/preview",
      by: "rules:read",
      tag: "Rules",
      summary: "Show the alerts that a stored rule would have raised",
      description: "As if it had been there all the time. Of a metric, with its line.",
      query: RulePreviewQuery,
      response: RulePreviewResponse,
      problems: [404, 422, 503],
    },
    async ({ projectId, query, request, parameter }) => {
      const { q, when, forEach } = ruleOf(await findRule(control, projectId, parameter("id")));
      return preview(projectId, { q, when, forEach, days: query.days }, request);
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/rules/{id}",
      by: "rules:read",
      tag: "Rules",
      summary: "Get a rule",
      query: ProjectQuery,
      response: RuleResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      rule: ruleOf(await findRule(control, projectId, parameter("id"))),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/rules/{id}",
      by: "rules:manage",
      tag: "Rules",
      summary: "Change a rule",
      query: ProjectQuery,
      versioned: "rule",
      body: RuleChange,
      response: RuleResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { projectId, body, ifMatch, parameter } = call;
      const rule = await makeChange(control, call, (change) =>
        changeRule(change, parameter("id"), body, ifMatch),
      );
      changed(projectId);
      return { rule };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/rules/{id}/values",
      by: "rules:read",
      tag: "Rules",
      summary: "List the values that a rule follows by themselves, in their order",
      query: RuleValueListQuery,
      response: RuleValueList,
      problems: [404],
    },
    async ({ projectId, query, parameter }) => ({
      ...(await listValues(control, projectId, parameter("id"), query)),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/rules/{id}/forget",
      operationId: "forgetRuleValue",
      by: "rules:manage",
      tag: "Rules",
      summary: "Forget a value that a rule follows",
      description: "Resolves its alert, without a message. Its next event makes it a new one.",
      query: ProjectQuery,
      body: ForgottenValue,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => forgetValue(change, call.parameter("id"), call.body.value));
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/rules/{id}",
      by: "rules:manage",
      tag: "Rules",
      summary: "Delete a rule",
      description: "Notifications that it has made are still sent.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteRule(change, call.parameter("id")));
      changed(call.projectId);
    },
  );
}
