import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  NewSilence,
  SilenceChange,
  SilenceDraft,
  SilenceList,
  SilenceListQuery,
  SilencePreviewResponse,
  SilenceResponse,
} from "../schemas/silence.ts";
import type { Store } from "../storage/store.ts";
import { previewSilence } from "./preview.ts";
import type { FindEvent } from "./silenced-alerts.ts";
import {
  changeSilence,
  createSilence,
  deleteSilence,
  endSilence,
  findSilence,
  listSilences,
  silenceOf,
} from "./silences.ts";

type Deps = {
  store: Pick<Store, "control" | "events">;
  recentEvents: { find: FindEvent };
  fanOut: { wake(): void };
};

const tag = "Silences";

export function addSilenceRoutes(routes: Routes, { store, recentEvents, fanOut }: Deps): void {
  const { control, events } = store;

  routes.add(
    {
      method: "get",
      path: "/api/silences",
      by: "silences:read",
      tag,
      summary: "List silences, those planned last first",
      query: SilenceListQuery,
      response: SilenceList,
    },
    async ({ projectId, query }) => ({ ...(await listSilences(control, projectId, query, Date.now())) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/silences",
      by: "silences:change",
      tag,
      summary: "Plan a silence",
      description:
        "While it is active, what it covers notifies nobody. Events are recorded and rules go on as ever. Whoever would have been notified has a delivery that was skipped, which names the reason.",
      query: ProjectQuery,
      body: NewSilence,
      status: 201,
      response: SilenceResponse,
      problems: [409],
    },
    async (call) => {
      const silence = await makeChange(control, call, (change) =>
        createSilence(change, call.body, Date.now()),
      );
      fanOut.wake();
      return { silence };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/silences/preview",
      by: "silences:change",
      tag,
      summary: "Show what a silence would cover",
      query: ProjectQuery,
      body: SilenceDraft,
      response: SilencePreviewResponse,
    },
    async ({ projectId, body }) => {
      const findEvent: FindEvent = (project, id) => recentEvents.find(project, id);
      return { ...(await previewSilence({ control, events, findEvent }, projectId, body, Date.now())) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/silences/{id}",
      by: "silences:read",
      tag,
      summary: "Get a silence",
      query: ProjectQuery,
      response: SilenceResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      silence: silenceOf(await findSilence(control, projectId, parameter("id")), Date.now()),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/silences/{id}",
      by: "silences:change",
      tag,
      summary: "Change a silence that has not ended",
      description: "Of one that has begun, `from` can't be changed.",
      query: ProjectQuery,
      versioned: "silence",
      body: SilenceChange,
      response: SilenceResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      const silence = await makeChange(control, call, (change) =>
        changeSilence(change, parameter("id"), body, ifMatch, Date.now()),
      );
      fanOut.wake();
      return { silence };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/silences/{id}/end",
      operationId: "endSilence",
      by: "silences:change",
      tag,
      summary: "End a silence now",
      description: "The recipients of alerts that it covers and that are still open are told once.",
      query: ProjectQuery,
      response: SilenceResponse,
      problems: [404, 409],
    },
    async (call) => {
      const silence = await makeChange(control, call, (change) =>
        endSilence(change, call.parameter("id"), Date.now()),
      );
      fanOut.wake();
      return { silence };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/silences/{id}",
      by: "silences:change",
      tag,
      summary: "Delete a silence that has not begun",
      query: ProjectQuery,
      response: Done,
      problems: [404, 409],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteSilence(change, call.parameter("id"), Date.now()));
    },
  );
}
