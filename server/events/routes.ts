import { z } from "@hono/zod-openapi";
import type { House } from "../house.ts";
import { listDeliveries, whySilent } from "../notifications/bell.ts";
import type { Routes } from "../routes.ts";
import { readJson } from "../wire/body.ts";
import { type Event, EventAnswer, EventList, NewEvent } from "../wire/event.ts";
import {
  decodeCursor,
  EventListQuery,
  EventStreamQuery,
  encodeCursor,
  filterOf,
  ProjectQuery,
  readQuery,
} from "../wire/event-query.ts";
import { limits } from "../wire/limits.ts";
import { DeliveryList } from "../wire/notification.ts";
import { problem } from "../wire/problems.ts";
import { isEventId, parseMomentToken } from "./id.ts";
import { streamList } from "./list.ts";

const jsonHeaders = { "content-type": "application/json" };
// As `cors` in app.ts says for the routes that the router serves.
const recordedHeaders = { ...jsonHeaders, "access-control-allow-origin": "*" };
const createdAnswer = { status: 201, headers: recordedHeaders };
const knownAnswer = { status: 200, headers: recordedHeaders };

/** `POST /api/events`. It stands in `Bun.serve`'s own routes: the way of every event goes around the router. */
export function recordRoute({ gate, keys, record }: House): (request: Request) => Promise<Response> {
  return async (request) => {
    const isPlain = request.headers.get("x-api-key") !== null && !request.url.includes("?");
    const { projectId } = isPlain ? await keys.identify(request.headers) : await gate.toProject(request);
    if (!isPlain) readQuery(new URL(request.url).searchParams, ProjectQuery);
    const body = await readJson(request, limits.eventBytes);
    const { json, isNew } = await record(body, projectId);
    return new Response(`{"ok":true,"event":${json}}`, isNew ? createdAnswer : knownAnswer);
  };
}

export function addEventRoutes(routes: Routes, house: House): void {
  const { store, live, upkeep } = house;

  routes.describe({
    method: "post",
    path: "/api/events",
    by: "project",
    tag: "Events",
    query: ProjectQuery,
    summary: "Record an event",
    description:
      "The answer is sent once the event is on disk. Sent again with the same `id`, it is answered with 200 and the stored event.",
    body: NewEvent,
    status: 201,
    answer: EventAnswer,
    problems: [503, 507],
  });

  routes.add(
    {
      method: "get",
      path: "/api/events",
      by: "project",
      tag: "Events",
      summary: "List events, newest first",
      description:
        "Without `limit`, all events, streamed. With it, a page, and `nextCursor` for the next one.",
      query: EventListQuery,
      takesTags: true,
      answer: EventList,
    },
    async ({ projectId, query, tags }) => {
      const listing = {
        projectId,
        filter: filterOf(query, tags),
        order: query.order ?? ("desc" as const),
        ...(query.cursor !== undefined && { after: decodeCursor(query.cursor) }),
      };
      if (query.limit === undefined)
        return new Response(streamList(store.events, listing), { headers: jsonHeaders });
      const { events, next } = await store.events.page(listing, query.limit);
      const nextCursor = JSON.stringify(next && encodeCursor(next));
      return new Response(`{"ok":true,"events":[${events.join(",")}],"nextCursor":${nextCursor}}`, {
        headers: jsonHeaders,
      });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/events/stream",
      by: "project",
      tag: "Events",
      summary: "Watch events as they arrive",
      description:
        "Server-Sent Events: `event` for each new event, with an id that `Last-Event-ID` resumes after; `ready` at the start; `reset` where the id is too old to resume; and `notification` for a signed-in account.",
      query: EventStreamQuery,
      takesTags: true,
      answer: z.string(),
      answerType: "text/event-stream",
    },
    async (call) => {
      const token = call.request.headers.get("last-event-id") ?? call.query.lastEventId;
      const after = token ? parseMomentToken(token) : null;
      if (token && !after)
        throw problem("query-invalid", { detail: "The last event's id is not one that a stream gave." });
      const body = live.open({
        projectId: call.projectId,
        filter: filterOf(call.query, call.tags),
        ...(call.by === "key" ? { keyId: call.keyId } : { accountId: call.account.id }),
        ...(after && { after }),
      });
      return new Response(body, {
        headers: {
          "content-type": "text/event-stream",
          "cache-control": "no-cache, no-transform",
          "x-accel-buffering": "no",
        },
      });
    },
  );

  async function findEvent(projectId: number, id: string): Promise<string> {
    const json = isEventId(id.toLowerCase()) ? await store.events.find(projectId, id.toLowerCase()) : null;
    if (json === null) throw unknownEvent();
    return json;
  }

  function unknownEvent(): Error {
    return problem("event-unknown", { detail: "This project has no event with this id." });
  }

  routes.add(
    {
      method: "get",
      path: "/api/events/{id}",
      by: "project",
      tag: "Events",
      summary: "Read an event",
      query: ProjectQuery,
      answer: EventAnswer,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const json = await findEvent(projectId, parameter("id"));
      return new Response(`{"ok":true,"event":${json}}`, { headers: jsonHeaders });
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/events/{id}",
      by: "project",
      tag: "Events",
      summary: "Delete an event",
      query: ProjectQuery,
      answer: z.object({ ok: z.literal(true) }),
      problems: [404, 503, 507],
    },
    async ({ projectId, parameter }) => {
      const id = parameter("id").toLowerCase();
      if (!isEventId(id) || !(await upkeep.removeEvent(projectId, id))) throw unknownEvent();
      return { ok: true };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/events/{id}/deliveries",
      by: "project",
      tag: "Events",
      summary: "See who was notified of an event, how and when",
      query: ProjectQuery,
      answer: DeliveryList,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const event = JSON.parse(await findEvent(projectId, parameter("id"))) as Event;
      const deliveries = await listDeliveries(store.control, projectId, event.id);
      return { ok: true, deliveries, silence: deliveries.length > 0 ? null : whySilent(event) };
    },
  );
}
