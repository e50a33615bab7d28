import { z } from "@hono/zod-openapi";
import type { House } from "../house.ts";
import type { Routes } from "../routes.ts";
import { parseJson, readBytes } from "../wire/body.ts";
import { EventAnswer, NewEvent } from "../wire/event.ts";
import { ProjectQuery } from "../wire/event-query.ts";
import { limits } from "../wire/limits.ts";
import { problem } from "../wire/problems.ts";
import { RefusedEventList } from "../wire/refused-event.ts";
import { eventResponse } from "./answers.ts";

const refusedDefault = 50;
const refusedMax = 200;

const RefusedQuery = ProjectQuery.extend({
  limit: z.coerce.number().int("must be a whole number").min(1).max(refusedMax).optional(),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, "is not one that a listing gave")
    .optional(),
});

/** `/api/events/refused`: to be added before `/api/events/{id}`, which it looks like. */
export function addRefusedEventRoutes(routes: Routes, { recorder, refused }: House): void {
  routes.add(
    {
      method: "get",
      path: "/api/events/refused",
      by: "project",
      tag: "Refused events",
      summary: "List events that were refused, newest first",
      description: "They are kept for some days, so that they can be mended and replayed.",
      query: RefusedQuery,
      answer: RefusedEventList,
    },
    async ({ projectId, query }) => {
      const before = query.cursor === undefined ? undefined : Number(query.cursor);
      return { ok: true, ...(await refused.list(projectId, query.limit ?? refusedDefault, before)) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/events/refused/{id}/replay",
      by: "project",
      tag: "Refused events",
      summary: "Record a refused event after all",
      description:
        "The body is the event, mended; without one, the event is recorded as it was sent. It leaves the list of refused events as it is recorded.",
      query: ProjectQuery,
      optionalBody: NewEvent,
      status: 201,
      answer: EventAnswer,
      problems: [404, 413, 422, 503, 507],
    },
    async ({ request, parameter, ...sender }) => {
      const id = idOf(parameter("id"));
      const { body, cut } = await refused.find(sender.projectId, id);
      const sent = await readBytes(request, limits.eventBytes);
      if (sent.length === 0 && cut) {
        throw problem("body-invalid", {
          detail: "The event was too long to be kept as a whole. Send it with the request, mended.",
        });
      }
      const event = parseJson(sent.length > 0 ? sent : Buffer.from(body));
      const recorded = await recorder.recordTied(event, sender, () => ({ kind: "replay", refusedId: id }));
      if (recorded === null) {
        throw problem("refused-event-unknown", {
          detail: "It was replayed or removed already, or was too old to be kept.",
        });
      }
      return eventResponse(recorded);
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/events/refused/{id}",
      by: "project",
      tag: "Refused events",
      summary: "Remove a refused event",
      query: ProjectQuery,
      answer: z.object({ ok: z.literal(true) }),
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      await refused.remove(projectId, idOf(parameter("id")));
      return { ok: true };
    },
  );
}

/** A number that no refused event has stands for a text that is no number. */
function idOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
