import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  HeartbeatAddressResponse,
  HeartbeatChange,
  HeartbeatList,
  HeartbeatPingList,
  HeartbeatResponse,
  HeartbeatUrlResponse,
  NewHeartbeat,
  SchedulePreview,
  SchedulePreviewResponse,
} from "../schemas/heartbeat.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import {
  changeHeartbeat,
  createHeartbeat,
  deleteHeartbeat,
  findHeartbeat,
  heartbeatOf,
  listHeartbeats,
  listPings,
  publishBadge,
  rotateHeartbeat,
  tokenOf,
  unpublishBadge,
} from "./heartbeats.ts";
import { nextTimes } from "./schedule.ts";

type Deps = {
  store: Store;
  secrets: SecretBox;
  baseUrl: string;
  heartbeatWorker: { wake(): void };
};

const tag = "Heartbeats";
const previewTimes = 3;

export function addHeartbeatRoutes(
  routes: Routes,
  { store: { control }, secrets, baseUrl, heartbeatWorker }: Deps,
): void {
  const urlOf = (token: string) => `${baseUrl}/ping/${token}`;
  const view = () => ({ nowMs: Date.now(), baseUrl });

  routes.add(
    {
      method: "get",
      path: "/api/heartbeats",
      by: "heartbeats:read",
      tag,
      summary: "List heartbeats, oldest first",
      description: "Without their addresses.",
      query: ProjectQuery,
      response: HeartbeatList,
    },
    async ({ projectId }) => ({ heartbeats: await listHeartbeats(control, projectId, view()) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/heartbeats",
      by: "heartbeats:manage",
      tag,
      summary: "Create a heartbeat",
      description: "The response has its address. Nothing is expected before its first ping.",
      query: ProjectQuery,
      body: NewHeartbeat,
      status: 201,
      response: HeartbeatAddressResponse,
      problems: [409],
    },
    async (call) => {
      const { row, token } = await makeChange(control, call, (change) =>
        createHeartbeat(change, secrets, call.body),
      );
      return { heartbeat: heartbeatOf(row, view()), url: urlOf(token) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/heartbeats/preview",
      by: "heartbeats:manage",
      tag,
      summary: "Show the next times of a schedule",
      query: ProjectQuery,
      body: SchedulePreview,
      response: SchedulePreviewResponse,
    },
    async ({ body }) => ({
      times: nextTimes(body.schedule, Date.now(), previewTimes).map((ms) => new Date(ms).toISOString()),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/heartbeats/{id}",
      by: "heartbeats:read",
      tag,
      summary: "Get a heartbeat",
      query: ProjectQuery,
      response: HeartbeatResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      heartbeat: heartbeatOf(await findHeartbeat(control, projectId, parameter("id")), view()),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/heartbeats/{id}",
      by: "heartbeats:manage",
      tag,
      summary: "Change, pause or resume a heartbeat",
      description:
        "`enabled: false` pauses it, `true` resumes it: it begins anew. With another schedule, the next ping is due as if one came now.",
      query: ProjectQuery,
      versioned: "heartbeat",
      body: HeartbeatChange,
      response: HeartbeatResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      const row = await makeChange(control, call, (change) =>
        changeHeartbeat(change, parameter("id"), body, ifMatch, view()),
      );
      heartbeatWorker.wake();
      return { heartbeat: heartbeatOf(row, view()) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/heartbeats/{id}",
      by: "heartbeats:manage",
      tag,
      summary: "Delete a heartbeat and its pings",
      description: "Its events stay.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteHeartbeat(change, call.parameter("id")));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/heartbeats/{id}/url",
      operationId: "getHeartbeatUrl",
      by: "heartbeats:manage",
      tag,
      summary: "Get a heartbeat's address",
      query: ProjectQuery,
      response: HeartbeatUrlResponse,
      problems: [404, 409],
    },
    // Like every response with a secret, it isn't compressed.
    async ({ projectId, parameter }) => {
      const row = await findHeartbeat(control, projectId, parameter("id"));
      return Response.json({ ok: true, url: urlOf(tokenOf(row, secrets)) });
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/heartbeats/{id}/rotate",
      by: "heartbeats:manage",
      tag,
      summary: "Replace a heartbeat's address",
      description: "The old address ends at once.",
      query: ProjectQuery,
      versioned: "heartbeat",
      response: HeartbeatAddressResponse,
      problems: [404],
    },
    async (call) => {
      const { ifMatch, parameter } = call;
      const { row, token } = await makeChange(control, call, (change) =>
        rotateHeartbeat(change, secrets, parameter("id"), ifMatch, view()),
      );
      return { heartbeat: heartbeatOf(row, view()), url: urlOf(token) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/heartbeats/{id}/badge",
      by: "heartbeats:manage",
      tag,
      summary: "Create a heartbeat's badge",
      description: "Whoever has its address sees the name and the state. The former address ends.",
      query: ProjectQuery,
      versioned: "heartbeat",
      status: 201,
      response: HeartbeatResponse,
      problems: [404],
    },
    async (call) => {
      const { ifMatch, parameter } = call;
      const row = await makeChange(control, call, (change) =>
        publishBadge(change, parameter("id"), ifMatch, view()),
      );
      return { heartbeat: heartbeatOf(row, view()) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/heartbeats/{id}/badge",
      by: "heartbeats:manage",
      tag,
      summary: "Remove a heartbeat's badge",
      query: ProjectQuery,
      versioned: "heartbeat",
      response: Done,
      problems: [404],
    },
    async (call) => {
      const { ifMatch, parameter } = call;
      await makeChange(control, call, (change) => unpublishBadge(change, parameter("id"), ifMatch, view()));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/heartbeats/{id}/pings",
      by: "heartbeats:read",
      tag,
      summary: "List the last pings of a heartbeat, newest first",
      query: ProjectQuery,
      response: HeartbeatPingList,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const { id } = await findHeartbeat(control, projectId, parameter("id"));
      return { pings: await listPings(control, id) };
    },
  );
}
