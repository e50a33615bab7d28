import { z } from "@hono/zod-openapi";
import { problem } from "../../core/problems.ts";
import { parseForeignJson } from "../../http/json.ts";
import type { Routes } from "../../http/routes.ts";
import { itemsFrom } from "../item.ts";
import { jsonResponse, type Receive, unfitBody, type Wire } from "../receive.ts";
import { throwIfAllRejected } from "../record-items.ts";
import { isObject } from "../text.ts";
import { itemOf, keyIn } from "./messages.ts";
import { checkKeyInPath, noFlags, remoteConfig, remoteConfigScript } from "./remote-config.ts";

const CaptureEvent = z
  .looseObject({
    event: z.string(),
    distinct_id: z.string(),
    properties: z.record(z.string(), z.unknown()).optional(),
    timestamp: z.string().optional().openapi({ format: "date-time" }),
    uuid: z.string().optional().openapi({ description: "Makes a retry harmless." }),
  })
  .openapi("PostHogEvent");
const Capture = z.looseObject({ api_key: z.string(), batch: z.array(CaptureEvent) }).openapi("PostHogBatch");

const formByte = "d".charCodeAt(0);

/** The body: JSON, or a form with JSON in `data`, as it is or in base64. */
async function parse(bytes: Uint8Array): Promise<unknown> {
  if (bytes[0] !== formByte) return parseForeignJson(bytes);
  const data = new URLSearchParams(Buffer.from(bytes).toString()).get("data");
  if (data === null) throw problem("body-malformed", { detail: 'The form has no field "data".' });
  const isJson = data.startsWith("{") || data.startsWith("[");
  return parseForeignJson(isJson ? Buffer.from(data) : Buffer.from(data.replaceAll(" ", "+"), "base64"));
}

/** The events of a body: an object with `batch`, an array, or one event. Throws `body-invalid`. */
function eventsIn(body: unknown): unknown[] {
  if (Array.isArray(body)) return body;
  if (!isObject(body))
    throw unfitBody("The body must be an event, an array of events, or an object with a batch.");
  const { batch } = body;
  if (batch === undefined) return [body];
  if (!Array.isArray(batch)) throw unfitBody('"batch" must be an array of events.');
  return batch;
}

const wire: Wire<unknown> = {
  name: "PostHog",
  parse,
  keyIn,
  map: (body, nowMs) => itemsFrom(eventsIn(body), (event) => itemOf(event, nowMs)),
  respond(outcomes) {
    throwIfAllRejected(outcomes);
    return jsonResponse({ status: "Ok" });
  },
};

/** Where clients send events: those of servers and phones to `/batch`, those of browsers to the others. */
const capturePaths = {
  "/batch/": "postHogBatch",
  "/batch": "postHogBatchWithoutSlash",
  "/e/": "postHogEvents",
  "/i/v0/e/": "postHogEventsV0",
  "/capture/": "postHogCapture",
};
/** Where clients ask for feature flags. */
const flagPaths = {
  "/flags/": "postHogFlags",
  "/flags": "postHogFlagsWithoutSlash",
  "/decide/": "postHogDecide",
  "/decide": "postHogDecideWithoutSlash",
};

const configPath = "/array/{key}/config";
const configScriptPath = `${configPath}.js`;

export const postHogPaths = [
  ...Object.keys({ ...capturePaths, ...flagPaths }),
  ...[configPath, configScriptPath].map((path) => path.replace("{key}", ":key")),
];

export function addPostHogRoutes(routes: Routes, receive: Receive): void {
  for (const [path, operationId] of Object.entries(capturePaths)) {
    routes.add(
      {
        method: "post",
        path,
        operationId,
        by: "sender",
        tag: "Drop-in endpoints",
        summary: "Capture events of PostHog's libraries",
        description: "Takes the key as `api_key`. See docs/moving-from/posthog.md.",
        optionalBody: Capture,
        response: z.object({ status: z.literal("Ok") }),
      },
      ({ request }) => receive(request, wire),
    );
  }
  for (const [path, operationId] of Object.entries(flagPaths)) {
    routes.add(
      {
        method: "post",
        path,
        operationId,
        by: "anyone",
        tag: "Drop-in endpoints",
        summary: "Tell PostHog's libraries that there are no feature flags",
        response: z.looseObject({ featureFlags: z.record(z.string(), z.unknown()) }),
      },
      async () => noFlags,
    );
  }
  const config = {
    method: "get",
    by: "anyone",
    tag: "Drop-in endpoints",
    description: "The key is publishable, and all have the same settings. See docs/moving-from/posthog.md.",
  } as const;
  routes.add(
    {
      ...config,
      path: configPath,
      operationId: "postHogConfig",
      problems: [404],
      summary: "Tell PostHog's library for browsers its settings",
      response: z.looseObject({ autocapture_opt_out: z.boolean(), sessionRecording: z.literal(false) }),
    },
    async ({ parameter }) => {
      checkKeyInPath(parameter("key"));
      return remoteConfig;
    },
  );
  routes.add(
    {
      ...config,
      path: configScriptPath,
      operationId: "postHogConfigScript",
      problems: [404],
      summary: "Tell PostHog's library for browsers its settings, as a script",
      response: z.string(),
      responseType: "text/javascript",
    },
    async ({ parameter }) => {
      checkKeyInPath(parameter("key"));
      return remoteConfigScript(parameter("key"));
    },
  );
}
