import { z } from "@hono/zod-openapi";
import { dataHeaders, problem } from "../../core/problems.ts";
import { parseForeignJson } from "../../http/json.ts";
import type { Routes } from "../../http/routes.ts";
import { channelIn, type Receive, unfitBody, type Wire } from "../receive.ts";
import { throwIfAllRejected } from "../record-items.ts";
import { isObject } from "../text.ts";
import { itemOf } from "./message.ts";

const Message = z
  .looseObject({
    text: z.string().optional(),
    blocks: z.array(z.record(z.string(), z.unknown())).optional(),
    attachments: z.array(z.record(z.string(), z.unknown())).optional(),
    channel: z.string().optional(),
    username: z.string().optional(),
    icon_emoji: z.string().optional(),
  })
  .openapi("SlackMessage");

const wire: Wire<unknown> = {
  name: "Slack",
  async parse(bytes) {
    const text = Buffer.from(bytes).toString();
    if (!text.startsWith("payload=")) return parseForeignJson(bytes);
    return parseForeignJson(Buffer.from(new URLSearchParams(text).get("payload")!));
  },
  map(body, nowMs, request) {
    if (!isObject(body)) throw unfitBody("The body must be a JSON object.");
    const { searchParams } = new URL(request.url);
    const options = {
      channel: channelIn(request, "slack"),
      notify: searchParams.get("notify") === "true",
    };
    const item = itemOf(body, options, nowMs);
    // Slack's own clients know `no_text`.
    if (!item)
      throw problem("body-malformed", { detail: "no_text: the message has no text, blocks or attachments." });
    return [item];
  },
  respond(outcomes) {
    throwIfAllRejected(outcomes);
    return textAnswer("ok", 200);
  },
  async explain(response) {
    const { detail } = (await response.json()) as { detail: string };
    const headers = new Headers(response.headers);
    headers.set("content-type", "text/plain; charset=utf-8");
    return new Response(detail, { status: response.status, headers });
  },
};

function textAnswer(text: string, status: number): Response {
  return new Response(text, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...dataHeaders },
  });
}

/** Incoming webhooks as Slack has them. */
export function addSlackRoutes(routes: Routes, receive: Receive): void {
  routes.add(
    {
      method: "post",
      path: "/slack/{key}",
      operationId: "slackWebhook",
      by: "sender",
      tag: "Drop-in endpoints",
      summary: "Send a message as to an incoming webhook of Slack",
      description:
        "The key is in the address, as in Slack's. JSON, or a form with JSON in `payload`. `?channel=` names the channel, `?notify=true` notifies. Problems are plain text. See docs/moving-from/slack.md.",
      optionalBody: Message,
      response: z.literal("ok"),
      responseType: "text/plain",
      problemContent: { "text/plain": z.string() },
    },
    ({ request, parameter }) => receive(request, wire, parameter("key")),
  );
}
