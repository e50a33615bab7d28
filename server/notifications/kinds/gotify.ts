import { z } from "@hono/zod-openapi";
import { defineKind, tokenSetting, urlSetting } from "./kind.ts";
import { linkOf, plainBody, titleOf } from "./layout.ts";
import { isFromProxy, joinUrl, memberOf, outcomeOf, type Service, sendJson } from "./response.ts";

const settings = z.strictObject({
  server: urlSetting({ title: "Server", description: "The address of your Gotify server." }),
  token: tokenSetting({
    title: "Application token",
    description: "In Gotify: Apps, Create Application, and copy its token.",
    secret: true,
  }),
});

const service: Service = {
  name: "Gotify",
  reason: ({ json }) => memberOf(json, "errorDescription"),
  isPassing: isFromProxy,
};

/** https://gotify.net/docs/pushmsg, and for `extras` https://gotify.net/docs/msgextras */
export const gotify = defineKind({
  kind: "gotify",
  label: "Gotify",
  settings,
  async send(message, { server, token }, context) {
    const link = linkOf(message);
    const body = {
      title: titleOf(message),
      message: plainBody(message, messageMax),
      priority: message.urgent ? urgentPriority : defaultPriority,
      extras: {
        "client::display": { contentType: "text/plain" },
        ...(link !== null && { "client::notification": { click: { url: link } } }),
      },
    };
    const headers = { "x-gotify-key": token };
    const address = joinUrl(server, "/message");
    return outcomeOf(await sendJson("POST", address, body, context, headers), service, context);
  },
});

/** Gotify has no limit; a phone's notification does. */
const messageMax = 4_000;
/** From 8, the app makes a sound and vibrates: https://github.com/gotify/android#message-priorities. */
const [defaultPriority, urgentPriority] = [5, 8];
