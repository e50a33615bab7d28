import { z } from "@hono/zod-openapi";
import { isPublishable } from "../../auth/key-secret.ts";
import type { Routes } from "../../http/routes.ts";
import { type Item, itemsFrom } from "../item.ts";
import { identifiesForLogSnag, logSnagProblems, logSnagUsers } from "../logsnag/routes.ts";
import { channelIn, jsonResponse, type Receive, unfitBody, type Wire } from "../receive.ts";
import { throwIfAllRejected } from "../record-items.ts";
import { filledText, objectOf } from "../text.ts";
import { itemOf, type MessageType, segmentChannel } from "./messages.ts";

const Message = z
  .looseObject({
    userId: z.string().optional(),
    anonymousId: z.string().optional(),
    messageId: z.string().optional().openapi({ description: "Makes a retry harmless." }),
    timestamp: z.string().optional().openapi({ format: "date-time" }),
    context: z.record(z.string(), z.unknown()).optional(),
    writeKey: z.string().optional().openapi({ description: "The API key, if no header has it." }),
  })
  .openapi("SegmentMessage");
const Batch = z
  .looseObject({ batch: z.array(Message), writeKey: z.string().optional() })
  .openapi("SegmentBatch");
const Success = z.object({ success: z.literal(true) });

/** Where pages send batches with `navigator.sendBeacon`, which can't send headers, so the key is in the address. */
const beaconPath = "/beacon/v1/batch";

/** The publishable key in a beacon's address. */
function keyOfBeacon(request: Request): string | undefined {
  const { pathname, searchParams } = new URL(request.url);
  const key = pathname === beaconPath ? searchParams.get("writeKey") : null;
  return key !== null && isPublishable(key) ? key : undefined;
}

/** The messages of a batch. Throws `body-invalid`. */
function itemsOfBatch(body: unknown, nowMs: number, request: Request): Iterable<Item> {
  const batch = objectOf(body).batch;
  if (!Array.isArray(batch)) throw unfitBody('"batch" must be an array of messages.');
  const channel = channelIn(request, segmentChannel);
  return itemsFrom(batch, (message) => itemOf(message, objectOf(message).type, nowMs, channel));
}

const wire: Wire<unknown> = {
  name: "Segment",
  keyIn: (body, request) => filledText(objectOf(body).writeKey) ?? keyOfBeacon(request),
  map: itemsOfBatch,
  respond(outcomes) {
    throwIfAllRejected(outcomes);
    return jsonResponse({ success: true });
  },
};

const wireOf = (type: MessageType): Wire<unknown> => ({
  ...wire,
  map: (body, nowMs, request) => [itemOf(body, type, nowMs, channelIn(request, segmentChannel))],
});

/** Paths of single messages. The short ones are those of Segment's library for browsers. */
const singlePaths: [path: string, type: MessageType][] = [
  ["/v1/track", "track"],
  ["/v1/identify", "identify"],
  ["/v1/page", "page"],
  ["/v1/screen", "screen"],
  ["/v1/group", "group"],
  ["/v1/alias", "alias"],
  ["/v1/t", "track"],
  ["/v1/i", "identify"],
  ["/v1/p", "page"],
  ["/v1/g", "group"],
  ["/v1/a", "alias"],
];

/** `segmentTrack`, and `segmentTrackShort` for the path of one letter. */
function operationIdOf(path: string, type: MessageType): string {
  const name = `segment${type.charAt(0).toUpperCase()}${type.slice(1)}`;
  return path.endsWith(type) ? name : `${name}Short`;
}

/** Paths of batches: the short one is that of Segment's library for browsers, the last one that of beacons. */
const batchPaths = {
  "/v1/batch": "segmentBatch",
  "/v1/b": "segmentBatchShort",
  [beaconPath]: "segmentBeacon",
};

export const segmentPaths = [...Object.keys(batchPaths), ...singlePaths.map(([path]) => path)];

/** Segment's tracking API, which RudderStack's clients use too. */
export function addSegmentRoutes(routes: Routes, receive: Receive): void {
  for (const [path, operationId] of Object.entries(batchPaths)) {
    routes.add(
      {
        method: "post",
        path,
        operationId,
        by: "sender",
        tag: "Drop-in endpoints",
        summary: "Send messages of Segment's libraries",
        description: `Takes the key as the user name of basic authentication or as \`writeKey\`${path === beaconPath ? ", and a publishable one as `?writeKey=`" : ""}. \`?channel=\` names the channel. See docs/moving-from/segment.md.`,
        optionalBody: Batch,
        response: Success,
      },
      ({ request }) => receive(request, wire),
    );
  }
  for (const [path, type] of singlePaths) {
    const isLogSnags = path === "/v1/identify" || path === "/v1/group";
    const single = wireOf(type);
    const users = logSnagUsers(type === "group" ? "group" : "identify", single);
    routes.add(
      {
        method: "post",
        path,
        operationId: operationIdOf(path, type),
        by: "sender",
        tag: "Drop-in endpoints",
        summary: `Send a "${type}" message of Segment's libraries${isLogSnags ? ", or LogSnag's" : ""}`,
        ...(isLogSnags && {
          description: `With \`${identifiesForLogSnag}\` in the body, it is LogSnag's: see docs/moving-from/logsnag.md.`,
          problemContent: logSnagProblems,
        }),
        optionalBody: Message,
        response: Success,
      },
      ({ request }) => receive(request, isLogSnags ? users : single),
    );
  }
}
