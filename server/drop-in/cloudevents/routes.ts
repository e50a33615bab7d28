import { z } from "@hono/zod-openapi";
import { ProblemError } from "../../core/problems.ts";
import { parseForeignJson } from "../../http/json.ts";
import type { Routes } from "../../http/routes.ts";
import { isExternalProblem, statusOf } from "../../ingest/record-batch.ts";
import { itemsFrom } from "../item.ts";
import { channelIn, jsonResponse, type Receive, unfitBody, type Wire } from "../receive.ts";
import { throwIfAllRejected } from "../record-items.ts";
import { isObject } from "../text.ts";
import { binaryEvent, itemOf } from "./events.ts";

const Event = z
  .looseObject({
    specversion: z.string(),
    id: z.string().openapi({ description: "With `source`, makes a retry harmless." }),
    source: z.string(),
    type: z.string(),
    time: z.string().optional().openapi({ format: "date-time" }),
    data: z.unknown().optional(),
  })
  .openapi("CloudEvent");

/** Requests a minute that a sender is told it may make. Rate limits of keys hold whatever it says. */
const allowedRate = 6_000;

const wire: Wire<unknown> = {
  name: "CloudEvents",
  async parse(bytes, { headers }) {
    const type = headers.get("content-type") ?? "";
    const isStructured = /^application\/cloudevents(?:-batch)?\+json/i.test(type);
    if (!isStructured && headers.has("ce-type")) return binaryEvent(headers, bytes);
    const body = await parseForeignJson(bytes);
    if (!Array.isArray(body) && !isObject(body))
      throw unfitBody("The body must be an event or an array of events.");
    return body;
  },
  map(body, nowMs, request) {
    const channel = channelIn(request, "cloudevents");
    return itemsFrom(Array.isArray(body) ? body : [body], (event) => itemOf(event, channel, nowMs));
  },
  respond(outcomes, body) {
    if (!Array.isArray(body)) {
      throwIfAllRejected(outcomes);
      return jsonResponse({ ok: true, id: outcomes[0] }, 201);
    }
    const problems = outcomes.filter((outcome) => outcome instanceof ProblemError);
    const accepted = outcomes.length - problems.length;
    const status = statusOf(accepted, problems.length, problems.find(isExternalProblem));
    const results = outcomes.map((outcome) =>
      outcome instanceof ProblemError ? outcome.toProblem() : { ok: true, id: outcome },
    );
    return jsonResponse({ ok: problems.length === 0, accepted, rejected: problems.length, results }, status);
  },
};

export const cloudEventsPath = "/cloudevents";

/** CloudEvents 1.0 over HTTP, in all three modes. */
export function addCloudEventsRoutes(routes: Routes, receive: Receive): void {
  routes.add(
    {
      method: "post",
      path: cloudEventsPath,
      operationId: "cloudEvents",
      by: "sender",
      tag: "Drop-in endpoints",
      summary: "Send CloudEvents",
      description:
        "Structured (`application/cloudevents+json`), batched (`application/cloudevents-batch+json`) or binary (`ce-*` headers). A batch is answered as an array of events is. `?channel=` names the channel. See docs/moving-from/cloudevents.md.",
      optionalBody: z.union([Event, z.array(Event)]),
      status: 201,
      otherStatuses: [207, 422],
      response: z.looseObject({ ok: z.boolean() }),
    },
    ({ request }) => receive(request, wire),
  );
}

/** Answers the handshake by which senders ask whether they may deliver here (HTTP Webhooks for CloudEvents, section 4). */
export function answerHandshake(request: Request): Response | null {
  const origin = request.headers.get("webhook-request-origin");
  if (request.method !== "OPTIONS" || origin === null) return null;
  return new Response(null, {
    status: 200,
    headers: {
      allow: "POST",
      "webhook-allowed-origin": origin,
      "webhook-allowed-rate": request.headers.get("webhook-request-rate") ?? String(allowedRate),
    },
  });
}
