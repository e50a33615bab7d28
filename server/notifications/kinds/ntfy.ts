import { z } from "@hono/zod-openapi";
import type { Message } from "../message.ts";
import { jsonBytes, shorten } from "../shorten.ts";
import { defineKind, tokenSetting, urlSetting } from "./kind.ts";
import { linkLabelOf, linkOf, plainBody, titleOf } from "./layout.ts";
import { isFromProxy, memberOf, outcomeOf, type Service, sendJson } from "./response.ts";

const settings = z.strictObject({
  server: urlSetting({
    title: "Server",
    description: "Where the topic is: https://ntfy.sh, or your own server.",
  }).default("https://ntfy.sh"),
  topic: z
    .string()
    .regex(/^[-_A-Za-z0-9]{1,64}$/, "must be up to 64 letters, digits, - and _")
    .meta({
      title: "Topic",
      description: "The topic that you subscribed to. Without an access token, whoever knows it can read it.",
      secret: true,
    }),
  token: tokenSetting({
    title: "Access token",
    description: "Only for protected topics: create it under Account, Access tokens.",
    secret: true,
  }).optional(),
});

const service: Service = {
  name: "ntfy",
  reason: ({ json }) => memberOf(json, "error"),
  isPassing: isFromProxy,
};

/** https://docs.ntfy.sh/publish/#publish-as-json */
export const ntfy = defineKind({
  kind: "ntfy",
  label: "ntfy",
  settings,
  async send(message, { server, topic, token }, context) {
    const link = linkOf(message);
    // The buttons are its links.
    const { alert: _, ...withoutAlert } = message;
    const body = {
      topic,
      title: shorten(titleOf(message), titleBytesMax, jsonBytes),
      message: plainBody(withoutAlert, messageBytesMax, jsonBytes),
      priority: message.urgent ? urgentPriority : defaultPriority,
      tags: [message.project.slug],
      ...(message.report?.pictureUrl && { attach: message.report.pictureUrl, filename: "board.png" }),
      ...(link !== null && {
        click: link,
        actions: [{ action: "view", label: linkLabelOf(message), url: link }, ...alertActions(message)],
      }),
    };
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return outcomeOf(await sendJson("POST", server, body, context, headers), service, context);
  },
});

/** Buttons that act at once: https://docs.ntfy.sh/publish/#send-http-request. A message has at most three. */
function alertActions({ alert }: Message) {
  if (!alert) return [];
  const http = { action: "http", url: alert.url, method: "POST", clear: true };
  const headers = { "content-type": "application/json" };
  return [
    { ...http, headers, label: "Acknowledge", body: JSON.stringify({ do: "acknowledge" }) },
    { ...http, headers, label: "Resolve", body: JSON.stringify({ do: "resolve" }) },
  ];
}

/** https://docs.ntfy.sh/publish/#limitations: 4,096 bytes. The server reads at most 8,192 of the whole JSON. */
const messageBytesMax = 4_000;
const titleBytesMax = 800;
const [defaultPriority, urgentPriority] = [3, 5];
