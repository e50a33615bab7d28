import { z } from "@hono/zod-openapi";
import type { House } from "../house.ts";
import { listDeliveries, whySilent } from "../notifications/bell.ts";
import type { Routes } from "../routes.ts";
import { NewEvents, RecordAnswer } from "../wire/batch.ts";
import { type Event, EventAnswer, EventList } from "../wire/event.ts";
import { acceptedForm, mediaTypes } from "../wire/event-form.ts";
import {
  decodeCursor,
  EventListQuery,
  EventStreamQuery,
  encodeCursor,
  filterOf,
  ProjectQuery,
} from "../wire/event-query.ts";
import { DeliveryList } from "../wire/notification.ts";
import { problem } from "../wire/problems.ts";
import { isEventId, parseMomentToken } from "./id.ts";
import { pageText, streamList } from "./list.ts";

const jsonHeaders = { "content-type": "application/json" };

export function addEventRoutes(routes: Routes, house: House): void {
  const { store, live, upkeep, failures, setRequestTimeout } = house;
  const onCutOff = (error: unknown) => failures.listingFailed(error);

  routes.describe({
    method: "post",
    path: "/api/events",
    by: "project",
    tag: "Events",
    query: ProjectQuery,
    summary: "Record an event, or many",
    description:
      "The answer is sent once the event is on disk. Sent again with the same `id`, it is answered with 200 and the stored event. An array of events is answered with a verdict for each; 207 where some were rejected, 422 where all were. `application/x-ndjson` takes an event on each line, any number of them, and is answered with the lines that were rejected. With an `Idempotency-Key`, an event or an array is recorded once, and answered the same again for a day.",
    body: NewEvents,
    status: 201,
    answer: RecordAnswer,
    problems: [409, 503, 507],
  });

  routes.add(
    {
      method: "get",
      path: "/api/events",
      by: "project",
      tag: "Events",
      summary: "List events, newest first",
      description:
        "Without `limit`, all events, streamed. With it, a page, and `nextCursor` for the next one; as NDJSON and CSV, it is in the header `x-next-cursor`.",
      query: EventListQuery,
      takesTags: true,
      answer: EventList,
      otherAnswerTypes: [mediaTypes.ndjson, mediaTypes.csv],
    },
    async ({ projectId, query, tags, request }) => {
      const form = query.format ?? acceptedForm(request.headers.get("accept"));
      const headers = new Headers({ "content-type": mediaTypes[form], vary: "accept" });
      if (query.format !== undefined && form !== "json") {
        headers.set("content-disposition", `attachment; filename="events.${form}"`);
      }
      const listing = {
        form,
        projectId,
        filter: filterOf(query, tags),
        order: query.order ?? ("desc" as const),
        ...(query.cursor !== undefined && { after: decodeCursor(query.cursor) }),
      };
      if (query.limit === undefined)
        return new Response(await streamList(store.events, listing, onCutOff), { headers });
      const { events, next } = await store.events.page(listing, query.limit, request.signal);
      const nextCursor = next && encodeCursor(next);
      if (nextCursor !== null && form !== "json") headers.set("x-next-cursor", nextCursor);
      return new Response(pageText(form, events, nextCursor), { headers });
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
        "Server-Sent Events: `event` for each new event, with an id that `Last-Event-ID` resumes after; `ready` at the start; `reset` where the id is too old to resume, or not one of this server's; and `notification` for a signed-in account.",
      query: EventStreamQuery,
      takesTags: true,
      answer: z.string(),
      answerType: "text/event-stream",
      problems: [429],
    },
    async (call) => {
      const token = call.request.headers.get("last-event-id") ?? call.query.lastEventId;
      const after = token ? parseMomentToken(token) : null;
      if (token && !after)
        throw problem("query-invalid", { detail: "The last event's id is not one that a stream gave." });
      const headers = {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      };
      // Nobody would read the stream, nor end it.
      if (call.request.method === "HEAD") return new Response(null, { headers });
      const listener = {
        projectId: call.projectId,
        filter: filterOf(call.query, call.tags),
        ...(call.by === "key"
          ? { keyId: call.keyId }
          : { accountId: call.account.id, sessionId: call.sessionId }),
        ...(after && { after }),
      };
      const body = live.open(listener, (seconds) => setRequestTimeout(call.request, seconds));
      return new Response(body, { headers });
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
