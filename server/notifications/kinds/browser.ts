import { z } from "@hono/zod-openapi";
import type { Message } from "../message.ts";
import type { Vapid } from "../push.ts";
import type { DestinationKind } from "./kind.ts";
import { titleOf } from "./layout.ts";

/** The address is the push endpoint, the others are the keys of the subscription. */
const settings = z.strictObject({ address: z.url(), p256dh: z.string(), auth: z.string() });

/** The browsers of accounts, by Web Push. */
export function browserKind(vapid: Vapid, baseUrl: string): DestinationKind<typeof settings> {
  return {
    kind: "browser",
    label: "Browser",
    settings,
    async send(message, { address: endpoint, ...keys }, { policy, timeoutMs }) {
      const push = {
        title: titleOf(message),
        body: bodyOf(message),
        url: message.url.slice(baseUrl.length),
        tag: message.type === "event" ? message.event!.id : message.id,
        // Its buttons are those of the alert, if there is one.
        ...(message.alert && { alert: message.alert.url.slice(baseUrl.length) }),
        ...(message.type === "event" && {
          mute: {
            project: message.project.slug,
            channel: message.event!.channelId,
            name: message.event!.name,
          },
        }),
      };
      // Loaded on first use, because its packages need memory.
      const { sendPush } = await import("../push.ts");
      return sendPush({ endpoint, keys }, push, vapid, policy, timeoutMs);
    },
  };
}

function bodyOf({ type, event, text, project }: Message): string {
  const facts =
    type === "event" || type === "test"
      ? [
          event!.channelId,
          event!.userId,
          ...Object.entries(event!.tags).map(([key, value]) => `${key}: ${value}`),
        ]
      : [];
  const lines = [facts.filter((part) => part !== "").join(" · "), text ?? "", project.name];
  return lines.filter((line) => line !== "").join("\n");
}
