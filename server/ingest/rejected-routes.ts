import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { DuplicateResponse, EventResponse, NewEvent } from "../event/event.ts";
import { ProjectQuery } from "../event/event-query.ts";
import { readBytes } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  RejectedDiscard,
  RejectedDiscardResponse,
  RejectedEventList,
  RejectedGroupList,
  RejectedQuery,
  RejectedReplay,
  RejectedReplayResponse,
} from "../schemas/rejected-event.ts";
import { eventResponse } from "./event-response.ts";
import type { Recorder } from "./record.ts";
import type { RejectedEvents } from "./rejected.ts";
import { replayMany } from "./replay-many.ts";

/** Must be added before `/api/events/{id}`, which would match `/api/events/rejected` too. */
export function addRejectedEventRoutes(
  routes: Routes,
  { recorder, rejected }: { recorder: Recorder; rejected: RejectedEvents },
): void {
  routes.add(
    {
      method: "get",
      path: "/api/events/rejected",
      operationId: "listRejectedEvents",
      by: "rejected:read",
      tag: "Rejected events",
      summary: "List rejected events, newest first",
      description: "Rejected events are kept for some days so that they can be fixed and resent.",
      query: RejectedQuery,
      response: RejectedEventList,
    },
    async ({ projectId, query: { limit, cursor, ...filter } }) => {
      const before = cursor === undefined ? undefined : Number(cursor);
      return rejected.list(projectId, filter, limit, before);
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/events/rejected/groups",
      operationId: "listRejectedEventGroups",
      by: "rejected:read",
      tag: "Rejected events",
      summary: "Count rejected events by reason and API key",
      query: ProjectQuery,
      response: RejectedGroupList,
    },
    async ({ projectId }) => ({ ...(await rejected.groups(projectId, limits.rejectedGroups)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/events/rejected/replay",
      operationId: "replayRejectedEvents",
      by: "rejected:change",
      tag: "Rejected events",
      summary: "Fix and resend rejected events",
      description:
        "Applies the same changes to each event of a filter and records it, oldest first. One that is still invalid stays listed as it was sent. One that is recorded is removed from the list in the same commit, so it is recorded once, even by concurrent requests.",
      query: ProjectQuery,
      body: RejectedReplay,
      response: RejectedReplayResponse,
      problems: [429, 503, 507],
    },
    async ({ body, request: _, query: __, ...source }) => ({
      ...(await replayMany({ recorder, rejected }, source, body)),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/events/rejected/discard",
      operationId: "discardRejectedEvents",
      by: "rejected:change",
      tag: "Rejected events",
      summary: "Discard rejected events",
      query: ProjectQuery,
      body: RejectedDiscard,
      response: RejectedDiscardResponse,
    },
    async ({ projectId, actor, body }) => ({
      discarded: await rejected.discard(projectId, body, actor),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/events/rejected/{id}/replay",
      operationId: "replayRejectedEvent",
      by: "rejected:change",
      tag: "Rejected events",
      summary: "Resend a rejected event",
      description:
        "Send the fixed event as the body; without a body, the event is recorded as it was sent. Once recorded, it is removed from the list of rejected events.",
      query: ProjectQuery,
      optionalBody: NewEvent,
      status: 201,
      otherStatuses: [200],
      response: z.union([EventResponse, DuplicateResponse]),
      problems: [404, 413, 422, 503, 507],
    },
    async ({ request, parameter, ...source }) => {
      const id = idOf(parameter("id"));
      const { body, cut } = await rejected.find(source.projectId, id);
      const received = await readBytes(request, limits.eventBytes);
      if (received.length === 0 && cut) {
        throw problem("body-invalid", {
          detail: "The event was too long to keep in full. Send the fixed event as the body.",
        });
      }
      const event = parseJson(received.length > 0 ? received : Buffer.from(body));
      const recorded = await recorder.recordWith(event, source, () => ({ kind: "replay", rejectedId: id }));
      if (recorded === null) {
        throw problem("rejected-event-unknown", {
          detail: "The rejected event was already resent or removed, or has expired.",
        });
      }
      return eventResponse(recorded, source);
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/events/rejected/{id}",
      operationId: "deleteRejectedEvent",
      by: "rejected:change",
      tag: "Rejected events",
      summary: "Discard a rejected event",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      await rejected.remove(projectId, idOf(parameter("id")));
    },
  );
}

/** Texts that aren't numbers become 0, which no rejected event has. */
function idOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
