import { z } from "@hono/zod-openapi";
import type { AlertLinks } from "../alerts/alert-links.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { readBytes } from "../http/body.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { DiscordResponse, receiveDiscordInteraction } from "./discord.ts";
import { receiveSlackClick } from "./slack.ts";
import { receiveTelegramUpdate, TelegramResponse } from "./telegram.ts";

type Deps = {
  store: Pick<Store, "control" | "rateLimiter">;
  secrets: SecretBox;
  alertLinks: AlertLinks;
  fanOut: { wake(): void };
  config: Config;
  addressOf: (request: Request) => string | null;
};

const tag = "Alerts";

/** Where chats post clicks on the buttons in messages. Each is signed by the chat's service. */
export function addInteractionRoutes(
  routes: Routes,
  { store, secrets, alertLinks, fanOut, config, addressOf }: Deps,
): void {
  const { control } = store;
  const deps = { control, secrets, alertLinks, fanOut };
  const policy = { allowPrivate: config.allowPrivateAddresses };
  const limiter = store.rateLimiter({
    name: "interactions",
    points: limits.interactionRequestsPerMinute,
    seconds: 60,
  });

  async function readBody(request: Request): Promise<Uint8Array> {
    await takePoint(limiter, clientNetwork(addressOf(request)), "clicks on buttons");
    return readBytes(request, limits.interactionBytes);
  }

  routes.add(
    {
      method: "post",
      path: "/interactions/slack",
      operationId: "receiveSlackInteraction",
      by: "anyone",
      tag,
      summary: "Receive a click on a button in Slack",
      description:
        "The Interactivity Request URL of a Slack app. The signature is verified with the signing secret of the message's destination. Slack shows the result in the message.",
      optionalBody: z.object({ payload: z.string() }),
      otherBodyTypes: ["application/x-www-form-urlencoded"],
      response: z.literal(""),
      responseType: "text/plain",
      problems: [400, 401, 404, 429, 502],
    },
    async ({ request, actor }) => {
      await receiveSlackClick({ ...deps, policy }, request.headers, await readBody(request), actor);
      return new Response("", { headers: { "content-type": "text/plain; charset=utf-8" } });
    },
  );

  routes.add(
    {
      method: "post",
      path: "/interactions/telegram",
      operationId: "receiveTelegramInteraction",
      by: "anyone",
      tag,
      summary: "Receive a click on a button in Telegram",
      description:
        "The webhook of a Telegram bot, which Tidings sets for destinations with buttons. The header `X-Telegram-Bot-Api-Secret-Token` is verified with the bot's token.",
      optionalBody: z.looseObject({ update_id: z.int() }),
      response: TelegramResponse,
      problems: [400, 401, 429],
    },
    async ({ request, actor }) => {
      return receiveTelegramUpdate({ ...deps, policy }, request.headers, await readBody(request), actor);
    },
  );

  routes.add(
    {
      method: "post",
      path: "/interactions/discord/{publicKey}",
      operationId: "receiveDiscordInteraction",
      by: "anyone",
      tag,
      summary: "Receive a click on a button in Discord",
      description:
        "The Interactions Endpoint URL of a Discord application, with its public key at the end. The signature is verified with it, and the message's destination must have the same key.",
      optionalBody: z.looseObject({ type: z.int() }),
      response: DiscordResponse,
      problems: [400, 401, 429],
    },
    async ({ request, actor, parameter }) =>
      receiveDiscordInteraction(
        deps,
        parameter("publicKey"),
        request.headers,
        await readBody(request),
        actor,
      ),
  );
}
