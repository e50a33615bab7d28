import { z } from "@hono/zod-openapi";
import type { House } from "../house.ts";
import type { Routes } from "../routes.ts";
import { parseJson, readBytes } from "../wire/body.ts";
import { EventAnswer, NewEvent } from "../wire/event.ts";
import { ProjectQuery } from "../wire/event-query.ts";
import { limits } from "../wire/limits.ts";
import { problem } from "../wire/problems.ts";
import { RejectedEventList } from "../wire/rejected-event.ts";
import { eventResponse } from "./answers.ts";

const rejectedDefault = 50;
const rejectedMax = 200;

const RejectedQuery = ProjectQuery.extend({
  limit: z.coerce.number().int("must be a whole number").min(1).max(rejectedMax).optional(),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, "is not one that a listing gave")
    .optional(),
});

/** `/api/events/rejected`: to be added before `/api/events/{id}`, which it looks like. */
export function addRejectedEventRoutes(routes: Routes, { recorder, rejected }: House): void {
  routes.add(
    {
      method: "get",
      path: "/api/events/rejected",
      by: "project",
      tag: "Rejected events",
      summary: "List events that were rejected, newest first",
      description: "They are kept for some days, so that they can be mended and replayed.",
      query: RejectedQuery,
      answer: RejectedEventList,
    },
    async ({ projectId, query }) => {
      const before = query.cursor === undefined ? undefined : Number(query.cursor);
      return { ok: true, ...(await rejected.list(projectId, query.limit ?? rejectedDefault, before)) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/events/rejected/{id}/replay",
      by: "project",
      tag: "Rejected events",
      summary: "Record a rejected event after all",
      description:
        "The body is the event, mended; without one, the event is recorded as it was sent. It leaves the list of rejected events as it is recorded.",
      query: ProjectQuery,
      optionalBody: NewEvent,
      status: 201,
      answer: EventAnswer,
      problems: [404, 413, 422, 503, 507],
    },
    async ({ request, parameter, ...sender }) => {
      const id = idOf(parameter("id"));
      const { body, cut } = await rejected.find(sender.projectId, id);
      const sent = await readBytes(request, limits.eventBytes);
      if (sent.length === 0 && cut) {
        throw problem("body-invalid", {
          detail: "The event was too long to be kept as a whole. Send it with the request, mended.",
        });
      }
      const event = parseJson(sent.length > 0 ? sent : Buffer.from(body));
      const recorded = await recorder.recordTied(event, sender, () => ({ kind: "replay", rejectedId: id }));
      if (recorded === null) {
        throw problem("rejected-event-unknown", {
          detail: "It was replayed or removed already, or was too old to be kept.",
        });
      }
      return eventResponse(recorded);
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/events/rejected/{id}",
      by: "project",
      tag: "Rejected events",
      summary: "Remove a rejected event",
      query: ProjectQuery,
      answer: z.object({ ok: z.literal(true) }),
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      await rejected.remove(projectId, idOf(parameter("id")));
      return { ok: true };
    },
  );
}

/** A number that no rejected event has stands for a text that is no number. */
function idOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
