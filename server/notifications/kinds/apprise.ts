import { z } from "@hono/zod-openapi";
import { limits } from "../../core/limits.ts";
import type { Message } from "../message.ts";
import { defineKind, urlSetting } from "./kind.ts";
import { plainBody, titleOf } from "./layout.ts";
import { isFromProxy, joinUrl, memberOf, outcomeOf, type Service, sendJson } from "./response.ts";

const settings = z
  .strictObject({
    server: urlSetting({ title: "Server", description: "The address of your Apprise API server." }),
    key: z
      .string()
      .regex(/^[\w-]{1,128}$/, "must be up to 128 letters, digits, _ and -")
      .optional()
      .meta({
        title: "Configuration key",
        description: "The key under which the server has a configuration.",
        secret: true,
      }),
    urls: z.string().min(1).max(limits.destinationUrlCharacters).optional().meta({
      title: "Apprise URLs",
      description: "Instead of a key: one or more URLs such as mailto://…, with commas between them.",
      secret: true,
    }),
    tag: z.string().min(1).max(limits.destinationTokenCharacters).optional().meta({
      title: "Tag",
      description: "Only with a key: notifies the configuration's services with this tag.",
    }),
  })
  .refine(({ key, urls }) => (key === undefined) !== (urls === undefined), {
    path: ["key"],
    message: "or URLs are required, but not both",
  });

const service: Service = {
  name: "Apprise",
  reason: ({ json }) => memberOf(json, "error"),
  isPassing: isFromProxy,
};

/** https://github.com/caronc/apprise-api#api-details */
export const apprise = defineKind({
  kind: "apprise",
  label: "Apprise",
  settings,
  async send(message, { server, key, urls, tag }, context) {
    const body = {
      title: titleOf(message),
      body: plainBody(message, bodyMax),
      type: typeOf(message),
      format: "text",
      ...(urls !== undefined && { urls }),
      ...(tag !== undefined && { tag }),
    };
    const path = key === undefined ? "/notify" : `/notify/${key}`;
    const response = await sendJson("POST", joinUrl(server, path), body, context);
    if (response.status === 204)
      return { kind: "failed", detail: "Apprise has no configuration with this key." };
    return outcomeOf(response, service, context);
  },
});

/** The services behind it have limits of their own, to which Apprise cuts. */
const bodyMax = 4_000;

function typeOf({ type, urgent }: Message): "info" | "success" | "warning" {
  if (type === "recovery" || type === "metric-recovery") return "success";
  return urgent || ["silence", "threshold", "metric"].includes(type) ? "warning" : "info";
}
