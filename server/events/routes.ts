import { z } from "@hono/zod-openapi";
import { recordAudit } from "../audit/audit-log.ts";
import type { BackgroundWorker } from "../background/worker.ts";
import type { Config } from "../config/config.ts";
import { problem } from "../core/problems.ts";
import { type Event, EventList, EventResponse } from "../event/event.ts";
import { acceptedFormat, mediaTypes } from "../event/event-format.ts";
import {
  decodeCursor,
  EventCountQuery,
  EventListQuery,
  EventStreamQuery,
  encodeCursor,
  filterOf,
  ProjectQuery,
  RecordQuery,
} from "../event/event-query.ts";
import { isEventId, parseStampToken } from "../event/id.ts";
import type { FailureLog } from "../http/failures.ts";
import type { Routes } from "../http/routes.ts";
import { textResponse } from "../http/text-response.ts";
import { deliveriesOfEvent } from "../notifications/deliveries.ts";
import { explainNoDelivery } from "../notifications/explain.ts";
import { explainEvent, isInOutbox } from "../notifications/explanations.ts";
import { NewEvents, RecordResponse } from "../schemas/batch.ts";
import { DeliveryList } from "../schemas/delivery.ts";
import { Done } from "../schemas/done.ts";
import { EventCount } from "../schemas/event-count.ts";
import { namesPeople, withPeople } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { countMatches } from "./count.ts";
import { pageText, pageWithTagColumns, streamList } from "./list.ts";
import type { LiveStreams } from "./live.ts";

const jsonHeaders = { "content-type": "application/json" };

type Deps = {
  config: Config;
  store: Store;
  streams: LiveStreams;
  worker: BackgroundWorker;
  failures: FailureLog;
  setRequestTimeout: (request: Request, seconds: number) => void;
};

export function addEventRoutes(routes: Routes, deps: Deps): void {
  const { config, store, streams, worker, failures, setRequestTimeout } = deps;
  const onCutOff = (error: unknown) => failures.listingFailed(error);

  routes.describe({
    method: "post",
    path: "/api/events",
    operationId: "recordEvents",
    by: "events:send",
    tag: "Events",
    query: RecordQuery,
    summary: "Record one or more events",
    description:
      "The response is sent once the event is on disk. An event whose `id` is already stored returns 200 and the stored event; callers that may not read events get only its `id`, with `duplicate`. An array of events returns a result for each: 207 if some were rejected, 422 if all were. `application/x-ndjson` takes any number of events, one on each line, and returns the rejected lines. With an `Idempotency-Key`, an event or an array is recorded once and gets the same response for a day.",
    body: NewEvents,
    otherBodyTypes: [mediaTypes.ndjson],
    status: 201,
    otherStatuses: [200, 207, 422],
    response: RecordResponse,
    problems: [409, 429, 503, 507],
  });

  routes.add(
    {
      method: "get",
      path: "/api/events",
      by: "events:read",
      tag: "Events",
      summary: "List events, newest first",
      description:
        "Without `limit`, streams all events. With `limit`, returns a page and the `nextCursor` of the next one; for NDJSON and CSV the cursor is in the `x-next-cursor` header.",
      query: EventListQuery,
      takesTags: true,
      response: EventList,
      otherResponseTypes: [mediaTypes.ndjson, mediaTypes.csv],
    },
    async ({ projectId, actor, query, tags, request }) => {
      const format = query.format ?? acceptedFormat(request.headers.get("accept"));
      const headers = new Headers({ "content-type": mediaTypes[format], vary: "accept" });
      if (query.format !== undefined && format !== "json") {
        headers.set("content-disposition", `attachment; filename="events.${format}"`);
      }
      const hasTagColumns = query.tags === "columns";
      if (hasTagColumns && format !== "csv")
        throw problem("query-invalid", { detail: '"tags" applies to CSV only: add "format=csv".' });
      const listing = {
        format,
        hasTagColumns,
        projectId,
        filter: filterOf(query, tags),
        order: query.order ?? ("desc" as const),
        ...(query.cursor !== undefined && { after: decodeCursor(query.cursor) }),
      };
      if (query.limit === undefined) {
        // Applications that read everything with a key do so often. When a person does, somebody may want to know.
        if (actor.kind === "account") {
          // Without the filter: it may name a user, who may be erased one day.
          const entry = { action: "events.exported", projectId, detail: { format } } as const;
          await recordAudit(store.control, actor, entry);
        }
        const setTimeout = (seconds: number) => setRequestTimeout(request, seconds);
        return new Response(await streamList(store.events, listing, setTimeout, onCutOff), { headers });
      }
      const { events, next } = await store.events.page(
        hasTagColumns ? { ...listing, format: "json" } : listing,
        query.limit,
      );
      const nextCursor = next && encodeCursor(next);
      if (nextCursor !== null && format !== "json") headers.set("x-next-cursor", nextCursor);
      const text = hasTagColumns ? pageWithTagColumns(events) : pageText(format, events, nextCursor);
      return textResponse(request, text, { headers });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/events/count",
      operationId: "countEvents",
      by: "events:read",
      tag: "Events",
      summary: "Count events",
      description:
        "The exact number of events that match the filters, at any time or between `from` and `to`.",
      query: EventCountQuery,
      takesTags: true,
      response: EventCount,
    },
    async ({ projectId, query, tags }) => ({
      count: await countMatches(store.events, projectId, filterOf(query, tags)),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/events/stream",
      operationId: "streamEvents",
      by: "events:read",
      tag: "Events",
      summary: "Stream events as they arrive",
      description:
        "Server-Sent Events. `ready` comes first; `event` for each new event, with an id to resume from with `Last-Event-ID`; `reset` if that id is too old or unknown; `deleted` for events that were deleted, by their `ids`, or all of some `channels`, with `before` only those created before it; `heartbeat` every 15 seconds; `notification` for signed-in accounts, and on what they read on any device, `seen` with `channels` and `views`, and `notifications-read` with the number that is still `unread`.",
      query: EventStreamQuery,
      takesTags: true,
      response: z.string(),
      responseType: "text/event-stream",
      problems: [429],
    },
    async (call) => {
      const token = call.request.headers.get("last-event-id") ?? call.query.lastEventId;
      const after = token ? parseStampToken(token) : null;
      if (token && !after)
        throw problem("query-invalid", { detail: "The last event ID must be an ID that a stream sent." });
      const headers = {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      };
      // A stream for HEAD would be neither read nor closed.
      if (call.request.method === "HEAD") return new Response(null, { headers });
      const sentFilter = filterOf(call.query, call.tags);
      const listener = {
        projectId: call.projectId,
        filter: await withPeople(store.control, call.projectId, sentFilter),
        ...(namesPeople(sentFilter) && { sentFilter }),
        ...(call.by === "key"
          ? { keyId: call.keyId }
          : { accountId: call.account.id, sessionId: call.sessionId }),
        ...(after && { after }),
      };
      const body = streams.open(listener, (seconds) => setRequestTimeout(call.request, seconds));
      return new Response(body, { headers });
    },
  );

  async function findEvent(projectId: number, id: string): Promise<string> {
    const json = isEventId(id.toLowerCase()) ? await store.events.find(projectId, id.toLowerCase()) : null;
    if (json === null) throw unknownEvent();
    return json;
  }

  function unknownEvent(): Error {
    return problem("event-unknown", { detail: "This project has no event with this ID." });
  }

  routes.add(
    {
      method: "get",
      path: "/api/events/{id}",
      by: "events:read",
      tag: "Events",
      summary: "Get an event",
      query: ProjectQuery,
      response: EventResponse,
      problems: [404],
    },
    async ({ projectId, parameter, request }) => {
      const json = await findEvent(projectId, parameter("id"));
      return textResponse(request, `{"ok":true,"event":${json}}`, { headers: jsonHeaders });
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/events/{id}",
      by: "events:delete",
      tag: "Events",
      summary: "Delete an event",
      query: ProjectQuery,
      response: Done,
      problems: [404, 503, 507],
    },
    async ({ projectId, actor, parameter }) => {
      const id = parameter("id").toLowerCase();
      await findEvent(projectId, id);
      // Before the removal, which is a commit of the store's own: what is removed is always on record.
      await recordAudit(store.control, actor, { action: "event.deleted", projectId, target: id });
      if (!(await worker.removeEvent(projectId, id))) throw unknownEvent();
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/events/{id}/deliveries",
      by: "events:read",
      tag: "Events",
      summary: "List an event's deliveries, and why others have none",
      query: ProjectQuery,
      response: DeliveryList,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const event = JSON.parse(await findEvent(projectId, parameter("id"))) as Event;
      // Before the deliveries, which are made in the transaction that ends this.
      const pending = await isInOutbox(store.control, projectId, event.id);
      const deliveries = await deliveriesOfEvent(store.control, projectId, event.id);
      const isSilent = !pending && deliveries.length === 0;
      const { deliveryDays, smtpUrl } = config;
      const about = { nowMs: Date.now(), deliveryDays, isEmailAvailable: smtpUrl !== null };
      const explanations = pending ? [] : await explainEvent(store.control, projectId, event, about);
      return {
        deliveries,
        pending,
        silence: isSilent ? explainNoDelivery(explanations) : null,
        explanations,
      };
    },
  );
}
