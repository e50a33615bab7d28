import { z } from "@hono/zod-openapi";
import { problemType, type Routes } from "../../http/routes.ts";
import { Problem } from "../../schemas/problem.ts";
import type { Item } from "../item.ts";
import { jsonResponse, type Receive, unfitBody, type Wire } from "../receive.ts";
import { throwIfAllRejected } from "../record-items.ts";
import { isObject, type JsonObject, objectOf } from "../text.ts";
import { insightItemOf, logItemOf, userItemOf } from "./messages.ts";

/** The member that tells LogSnag's messages about users from Segment's, which have the same paths. */
export const identifiesForLogSnag = "user_id";

const Log = z
  .looseObject({
    channel: z.string(),
    event: z.string(),
    user_id: z.string().optional(),
    icon: z.string().optional(),
    notify: z.boolean().optional(),
    description: z.string().optional(),
    tags: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    timestamp: z.number().optional().openapi({ description: "Unix time in seconds." }),
  })
  .openapi("LogSnagEvent");
const Insight = z
  .looseObject({ title: z.string(), value: z.union([z.string(), z.number()]), icon: z.string().optional() })
  .openapi("LogSnagInsight");
const Increment = z
  .looseObject({ title: z.string(), value: z.object({ $inc: z.number() }), icon: z.string().optional() })
  .openapi("LogSnagIncrement");
/** Problems of LogSnag's paths, by media type. */
export const logSnagProblems = {
  [problemType]: Problem.extend({
    validation: z
      .object({ body: z.array(z.object({ message: z.string() })) })
      .openapi({ description: "What LogSnag's client shows: the problem's `detail`." }),
  }),
};
const Ok = z.object({ ok: z.literal(true) });

const wireOf = (itemOf: (body: JsonObject, nowMs: number) => Item): Wire<unknown> => ({
  name: "LogSnag",
  map(body, nowMs) {
    if (!isObject(body)) throw unfitBody("The body must be a JSON object.");
    return [itemOf(body, nowMs)];
  },
  respond(outcomes) {
    throwIfAllRejected(outcomes);
    return jsonResponse({ ok: true });
  },
  explain,
});

/** Adds `validation`, the only part of a problem that LogSnag's client shows. */
async function explain(response: Response): Promise<Response> {
  const problem = (await response.json()) as { detail: string };
  const body = { ...problem, validation: { body: [{ message: problem.detail }] } };
  return new Response(JSON.stringify(body), response);
}

const log = wireOf(logItemOf);

const insight = wireOf(insightItemOf);

/** Messages about users: LogSnag's if they have `user_id`, otherwise those of the other wire with the same path. */
export function logSnagUsers(type: "identify" | "group", other: Wire<unknown>): Wire<unknown> {
  const isOurs = (body: unknown) => objectOf(body)[identifiesForLogSnag] !== undefined;
  const own = wireOf((body) => userItemOf(body, type));
  return {
    ...other,
    map: (body, nowMs, request) => (isOurs(body) ? own : other).map(body, nowMs, request),
    respond: (outcomes, body, request) => (isOurs(body) ? own : other).respond(outcomes, body, request),
    // Segment's clients ignore what they don't know.
    explain,
  };
}

export const logSnagPaths = ["/v1/log", "/v1/insight"];

/** LogSnag's API. `/v1/identify` and `/v1/group` are in `segment/routes.ts`. */
export function addLogSnagRoutes(routes: Routes, receive: Receive): void {
  const description = "See docs/moving-from/logsnag.md.";
  const common = {
    by: "sender",
    tag: "Drop-in endpoints",
    description,
    response: Ok,
    problemContent: logSnagProblems,
  } as const;
  routes.add(
    {
      ...common,
      method: "post",
      path: "/v1/log",
      operationId: "logSnagLog",
      summary: "Send an event of LogSnag's client",
      optionalBody: Log,
    },
    ({ request }) => receive(request, log),
  );
  routes.add(
    {
      ...common,
      method: "post",
      path: "/v1/insight",
      operationId: "logSnagInsight",
      summary: "Send an insight of LogSnag's client, as an event and a value",
      optionalBody: Insight,
    },
    ({ request }) => receive(request, insight),
  );
  routes.add(
    {
      ...common,
      method: "patch",
      path: "/v1/insight",
      operationId: "logSnagIncrementInsight",
      summary: "Send a change to an insight of LogSnag's client, as an event and a value",
      optionalBody: Increment,
    },
    ({ request }) => receive(request, insight),
  );
}
