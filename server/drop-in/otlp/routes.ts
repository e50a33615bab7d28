import { z } from "@hono/zod-openapi";
import { dataHeaders, ProblemError } from "../../core/problems.ts";
import { parseForeignJson } from "../../http/json.ts";
import { problemType, type Routes } from "../../http/routes.ts";
import { Problem } from "../../schemas/problem.ts";
import { jsonResponse, type Receive, type Wire } from "../receive.ts";
import { throwIfAllRejected } from "../record-items.ts";
import { groupsOf, itemsOf, type RecordGroup } from "./logs.ts";

const protobufType = "application/x-protobuf";

/** Loaded by the first request that needs it: most servers never get one. */
const loadProtobuf = () => import("./protobuf.ts");
let protobuf: Awaited<ReturnType<typeof loadProtobuf>> | null = null;

const isProtobuf = ({ headers }: Request) =>
  headers.get("content-type")?.trim().startsWith(protobufType) === true;

const wire: Wire<Iterable<RecordGroup>> = {
  name: "OpenTelemetry",
  async parse(bytes, request) {
    if (!isProtobuf(request)) return groupsOf(await parseForeignJson(bytes));
    protobuf ??= await loadProtobuf();
    return protobuf.decodeRequest(bytes);
  },
  map: (groups, nowMs, request) =>
    itemsOf(groups, new URL(request.url).searchParams.get("channel") || null, nowMs),
  respond(outcomes, _, request) {
    throwIfAllRejected(outcomes);
    const problems = outcomes.filter((outcome) => outcome instanceof ProblemError);
    const partialSuccess = problems.length > 0 && {
      rejectedLogRecords: problems.length,
      errorMessage: problems[0]!.options.detail,
    };
    const message = { ...(partialSuccess && { partialSuccess }) };
    if (!isProtobuf(request)) return jsonResponse(message);
    return new Response(partialSuccess ? protobuf!.encode("Response", message) : null, {
      headers: { "content-type": protobufType, ...dataHeaders },
    });
  },
  /** Clients retry 429, 502, 503 and 504 only, and expect a `Status` in the encoding of their request. */
  async explain(response, request) {
    const status = [500, 507].includes(response.status) ? 503 : response.status;
    const problem = (await response.json()) as { detail: string };
    const headers = new Headers(response.headers);
    if (!isProtobuf(request)) {
      return new Response(JSON.stringify({ ...problem, message: problem.detail }), { status, headers });
    }
    protobuf ??= await loadProtobuf();
    headers.set("content-type", protobufType);
    return new Response(protobuf.encode("Status", { message: problem.detail }), { status, headers });
  },
};

export const otlpPath = "/v1/logs";

/** OpenTelemetry's logs over HTTP (OTLP/HTTP). */
export function addOtlpRoutes(routes: Routes, receive: Receive): void {
  routes.add(
    {
      method: "post",
      path: otlpPath,
      operationId: "otlpLogs",
      by: "sender",
      tag: "Drop-in endpoints",
      summary: "Send logs by OTLP/HTTP",
      description:
        "An `ExportLogsServiceRequest` as JSON or `application/x-protobuf`. The response has the same encoding. `?channel=` names the channel. See docs/moving-from/opentelemetry.md.",
      optionalBody: z
        .looseObject({ resourceLogs: z.array(z.record(z.string(), z.unknown())) })
        .openapi("ExportLogsServiceRequest"),
      response: z
        .looseObject({
          partialSuccess: z.object({ rejectedLogRecords: z.int(), errorMessage: z.string() }).optional(),
        })
        .openapi("ExportLogsServiceResponse"),
      otherResponseTypes: [protobufType],
      problemContent: {
        [problemType]: Problem.extend({
          message: z.string().openapi({ description: "The same as `detail`." }),
        }),
        [protobufType]: z.string(),
      },
    },
    ({ request }) => receive(request, wire),
  );
}
