import { z } from "@hono/zod-openapi";
import { shorten } from "../shorten.ts";
import { defineKind, tokenSetting } from "./kind.ts";
import { linkLabelOf, linkOf, plainBody, titleOf } from "./layout.ts";
import { call, memberOf, outcomeOf, type Service } from "./response.ts";

const settings = z.strictObject({
  token: tokenSetting({
    title: "Application token",
    description: "Create an application at pushover.net/apps/build and copy its API token.",
    secret: true,
  }),
  user: tokenSetting({
    title: "User or group key",
    description: "Shown at pushover.net after you sign in.",
    secret: true,
  }),
  device: z
    .string()
    .regex(/^[\w-]{1,25}$/, "must be up to 25 letters, digits, _ and -")
    .optional()
    .meta({ title: "Device", description: "The name of one device. Without it: all devices." }),
});

const service: Service = {
  name: "Pushover",
  reason: ({ json }) => {
    const errors = memberOf(json, "errors");
    return Array.isArray(errors) ? errors.join(", ") : undefined;
  },
  // https://pushover.net/api#limits: when the application's quota begins anew, in seconds since 1970.
  retryAfterMs: ({ headers }, nowMs) => Number(headers["x-limit-app-reset"]) * 1_000 - nowMs,
};

/** https://pushover.net/api#messages */
export const pushover = pushoverAt("https://api.pushover.net");

/** Pushover at another address, for tests. */
export function pushoverAt(origin: string) {
  return defineKind({
    kind: "pushover",
    label: "Pushover",
    settings,
    async send(message, { token, user, device }, context) {
      const link = linkOf(message);
      const body = new URLSearchParams({
        token,
        user,
        ...(device !== undefined && { device }),
        title: shorten(titleOf(message), titleMax),
        message: plainBody(message, messageMax),
        timestamp: String(Math.floor(Date.parse(message.createdAt) / 1_000)),
        priority: message.urgent ? highPriority : normalPriority,
        ...(link !== null && link.length <= urlMax && { url: link, url_title: linkLabelOf(message) }),
      });
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const response = await call("POST", `${origin}/1/messages.json`, body.toString(), headers, context);
      return outcomeOf(response, service, context);
    },
  });
}

/** https://pushover.net/api#limits */
const titleMax = 250;
const messageMax = 1_024;
const urlMax = 512;
/** https://pushover.net/api#priority: high bypasses quiet hours. Emergency, which repeats until confirmed, is never used. */
const [normalPriority, highPriority] = ["0", "1"];
