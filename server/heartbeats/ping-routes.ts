import { z } from "@hono/zod-openapi";
import { dataHeaders } from "../core/problems.ts";
import { errorResponse, type FailureLog } from "../http/failures.ts";
import type { Routes } from "../http/routes.ts";
import type { PingReceiver } from "./receive-ping.ts";

const PingAnswer = z.literal("OK");

const shared = {
  tag: "Heartbeats",
  response: PingAnswer,
  responseType: "text/plain",
  problemContent: { "text/plain": z.string() },
} as const;
const problems = [400, 404, 429, 503, 507];
/** What a POST carries is kept as text, whatever its type. */
const posted = { optionalBody: z.string(), otherBodyTypes: ["text/plain"] };

/** The addresses that jobs ping. Their answers are plain text, for people who look at the output of curl. */
export function addPingRoutes(
  routes: Routes,
  { pings, failures }: { pings: PingReceiver; failures: FailureLog },
): void {
  async function byToken(request: Request, token: string, end?: string): Promise<Response> {
    await pings.byToken(request, token, end);
    return text("OK", 200);
  }

  async function bySlug(request: Request, key: string, slug: string, end?: string): Promise<Response> {
    const isNew = await pings.bySlug(request, key, slug, end);
    return text("OK", isNew ? 201 : 200);
  }

  async function answer(request: Request, receive: () => Promise<Response>): Promise<Response> {
    try {
      return await receive();
    } catch (error) {
      const response = errorResponse(error, failures, request);
      const { detail } = (await response.json()) as { detail: string };
      return text(detail, response.status, response.headers);
    }
  }

  for (const method of ["get", "post"] as const) {
    const [name, verb] = method === "get" ? ["ping", "Ping"] : ["postPing", "Ping with a text"];
    const body = method === "post" ? posted : {};
    routes.add(
      {
        ...shared,
        ...body,
        by: "anyone",
        method,
        path: "/ping/{token}",
        operationId: name,
        summary: `${verb}: success`,
        problems,
        description: "`?rid=` with a UUID pairs the start and the end of a run, where runs overlap.",
      },
      ({ request, parameter }) => answer(request, () => byToken(request, parameter("token"))),
    );
    routes.add(
      {
        ...shared,
        ...body,
        by: "anyone",
        method,
        path: "/ping/{token}/{end}",
        operationId: `${name}End`,
        summary: `${verb}: start, fail, log or an exit status`,
        description:
          "`end` is `start`, `fail`, `log`, or an exit status from 0 to 255: 0 is a success, others are failures. With a secret API key in place of the token, `end` is the heartbeat's slug, and the ping a success; `?create=1` creates the heartbeat if there is none, and answers 201.",
        otherStatuses: [201],
        problems: [...problems, 401, 403, 409, 422],
      },
      ({ request, parameter }) => {
        const [token, end] = [parameter("token"), parameter("end")];
        return answer(request, () =>
          isKey(token) ? bySlug(request, token, end) : byToken(request, token, end),
        );
      },
    );
    routes.add(
      {
        ...shared,
        ...body,
        by: "sender",
        method,
        path: "/ping/{key}/{slug}/{end}",
        operationId: `${name}BySlug`,
        summary: `${verb} by slug: start, fail, log or an exit status`,
        description:
          "With a secret API key that may send events. `?create=1` creates the heartbeat if there is none.",
        otherStatuses: [201],
        problems: [...problems, 409, 422],
      },
      ({ request, parameter }) =>
        answer(request, () => bySlug(request, parameter("key"), parameter("slug"), parameter("end"))),
    );
  }
}

/** Whether it is meant to be a key, and not a token. */
function isKey(text: string): boolean {
  return /^tdg_[sp]k_/.test(text);
}

function text(line: string, status: number, from?: Headers): Response {
  const headers = new Headers({ "content-type": "text/plain; charset=utf-8", ...dataHeaders });
  for (const name of ["retry-after", "x-request-id", "www-authenticate"]) {
    const value = from?.get(name);
    if (value) headers.set(name, value);
  }
  return new Response(status < 300 ? line : `${line}\n`, { status, headers });
}
