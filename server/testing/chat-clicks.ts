import { createHmac, type KeyObject, sign } from "node:crypto";
import type { ReceivedRequest } from "./destination-services.ts";

type Message = Pick<ReceivedRequest, "body">;
type SlackBlock = { type: string; elements?: unknown[] };
type SlackButton = { action_id: string; value: string };

/** A request as a chat's service posts it. */
export type Posted = { headers: Record<string, string>; body: string };

export function slackButtonsOf({ body }: Message): SlackButton[] {
  const actions = (body.blocks as SlackBlock[]).find(({ type }) => type === "actions");
  return (actions?.elements ?? []) as SlackButton[];
}

export type SlackClick = {
  secret: string;
  responseUrl: string;
  /** Default: now. */
  atSeconds?: number;
  /** Default: the button's own. */
  token?: string;
};

/** A click on a button of a message: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
export function slackClick(message: Message, name: string, click: SlackClick): Posted {
  const { secret, responseUrl, atSeconds = Math.floor(Date.now() / 1_000) } = click;
  const button = slackButtonsOf(message).find(({ action_id }) => action_id === name)!;
  const value = click.token ?? button.value;
  const payload = {
    type: "block_actions",
    user: { id: "U012AB3CD", username: "ann", name: "ann", team_id: "T1" },
    api_app_id: "A1",
    container: { type: "message", message_ts: "1548261231.000200" },
    trigger_id: "12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3",
    message: { type: "message", bot_id: "B1", ts: "1548261231.000200", ...message.body },
    response_url: responseUrl,
    actions: [{ type: "button", block_id: "alert", action_ts: "1548426417.840180", ...button, value }],
  };
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const signature = createHmac("sha256", secret).update(`v0:${atSeconds}:${body}`).digest("hex");
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "x-slack-request-timestamp": String(atSeconds),
    "x-slack-signature": `v0=${signature}`,
  };
  return { headers, body };
}

type TelegramButton = { text: string; callback_data: string };
type TelegramMessage = { body: Record<string, unknown> & { reply_markup?: unknown } };

export function telegramButtonsOf({ body }: TelegramMessage): TelegramButton[] {
  const markup = body.reply_markup as { inline_keyboard: TelegramButton[][] } | undefined;
  return markup?.inline_keyboard.flat() ?? [];
}

/** An update about a click: https://core.telegram.org/bots/api#callbackquery */
export function telegramClick(data: string, secret: string | undefined): Posted {
  const from = { id: 5, is_bot: false, first_name: "Ann", last_name: "Lee", language_code: "en" };
  const message = { message_id: 101, date: 1_700_000_000, chat: { id: -1001234567890, type: "supergroup" } };
  const query = { id: "4382bfdwdsb323b2d9", from, message, chat_instance: "1", data };
  return {
    headers: {
      "content-type": "application/json",
      ...(secret !== undefined && { "x-telegram-bot-api-secret-token": secret }),
    },
    body: JSON.stringify({ update_id: 10_000, callback_query: query }),
  };
}

type DiscordButton = { custom_id: string; label: string; disabled?: boolean };

export function discordButtonsOf({ body }: Message): DiscordButton[] {
  const [row] = (body.components ?? []) as { components: DiscordButton[] }[];
  return row?.components ?? [];
}

/** An interaction, signed: https://docs.discord.com/developers/interactions/overview */
export function discordInteraction(payload: object, key: KeyObject): Posted {
  const body = JSON.stringify({ id: "846462639134605312", application_id: "845027738276462632", ...payload });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const headers = {
    "content-type": "application/json",
    "x-signature-ed25519": sign(null, Buffer.from(timestamp + body), key).toString("hex"),
    "x-signature-timestamp": timestamp,
  };
  return { headers, body };
}
