import { problem } from "../core/problems.ts";
import { type Event, EventList } from "../event/event.ts";
import { decodeCursor, EventsBeforeQuery, encodeCursor } from "../event/event-query.ts";
import { isEventId } from "../event/id.ts";
import type { Routes } from "../http/routes.ts";
import { textResponse } from "../http/text-response.ts";
import type { Store } from "../storage/store.ts";
import { pageText } from "./list.ts";

/** Lists what a person did before an event: what led to it. */
export function addBeforeRoute(routes: Routes, { store: { events } }: { store: Store }): void {
  routes.add(
    {
      method: "get",
      path: "/api/events/{id}/before",
      operationId: "listEventsBefore",
      by: "events:read",
      tag: "Events",
      summary: "List what happened before an event",
      description:
        "The events of the same person before this one, newest first, by all of the person's IDs. An event without a user has none.",
      query: EventsBeforeQuery,
      response: EventList,
      problems: [404],
    },
    async ({ projectId, parameter, request, query: { limit, cursor } }) => {
      const sent = cursor === undefined ? undefined : decodeCursor(cursor);
      const id = parameter("id").toLowerCase();
      const json = isEventId(id) ? await events.find(projectId, id) : null;
      if (json === null)
        throw problem("event-unknown", { detail: "This project has no event with this ID." });
      const { userId, createdAt } = JSON.parse(json) as Event;
      const after = sent ?? { ms: Date.parse(createdAt), id };
      const page =
        userId === ""
          ? { events: [], next: null }
          : await events.page({ projectId, filter: { userId }, order: "desc", after }, limit);
      const text = pageText("json", page.events, page.next && encodeCursor(page.next));
      return textResponse(request, text, { headers: { "content-type": "application/json" } });
    },
  );
}
