import { createHash, createHmac } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { LRUCache } from "lru-cache";
import { type AlertButton, alertButtons, allAlertButtons, withoutAlertLinks } from "../alert-buttons.ts";
import { type Context, defineKind, tokenSetting, urlSetting } from "./kind.ts";
import { layOut } from "./layout.ts";
import { escapeHtml, htmlLink, type Markup, plainText } from "./markup.ts";
import { mentionSetting, mentionsIn } from "./mention.ts";
import {
  joinUrl,
  memberOf,
  outcomeOf,
  type Service,
  type ServiceResponse,
  sendJson,
  updateOrSend,
} from "./response.ts";

const settings = z.strictObject({
  token: tokenSetting({
    title: "Bot token",
    description: "Send /newbot to @BotFather in Telegram, and add the bot to your chat.",
    secret: true,
  }).regex(/^\d+:[\w-]+$/, "must be digits, a colon and the rest of the token"),
  chat: z
    .string()
    .regex(/^(-?\d{1,20}|@\w{5,32})$/, "must be a number, or @ and the name of a public channel")
    .meta({
      title: "Chat",
      description: "The chat's id, such as -1001234567890, or @ and the name of a public channel.",
    }),
  topic: z
    .int()
    .positive()
    .optional()
    .meta({ title: "Topic", description: "The id of a topic, in groups that have topics." }),
  mention: mentionSetting({ pattern: /^@\w{5,32}$/, who: "the names of users (@ada_lovelace)" }),
  buttons: z.boolean().optional().meta({
    title: "Buttons",
    description:
      "Buttons in messages about alerts, which act at once. The bot's webhook becomes {server}/interactions/telegram, so use a bot that nothing else answers.",
  }),
  server: urlSetting({
    title: "Bot API server",
    description: "Change it only if you run your own Bot API server.",
  }).default("https://api.telegram.org"),
});
type Settings = z.infer<typeof settings>;

const service: Service = {
  name: "Telegram",
  reason: ({ json }) => memberOf(json, "description"),
  // https://core.telegram.org/bots/api#responseparameters
  retryAfterMs: ({ json }) => Number(memberOf(json, "parameters", "retry_after")) * 1_000,
  reference: ({ json }) => memberOf(json, "result", "message_id"),
};

/** A bot: https://core.telegram.org/bots/api#sendmessage */
export const telegram = defineKind({
  kind: "telegram",
  label: "Telegram",
  settings,
  isInOrder: true,
  async send(message, settings, context) {
    const buttons = settings.buttons ? message.alert?.buttons : undefined;
    const token =
      buttons && (await setWebhook(`${buttons.interactionsUrl}/telegram`, settings, context))
        ? buttons.token
        : undefined;
    const shown = token === undefined ? message : withoutAlertLinks(message);
    const mentions = mentionsIn(message, settings.mention).map((name) => `${name} `);
    const before = mentions.length === 0 ? "" : `${mentions.join("").trim()}\n`;
    const body = {
      chat_id: settings.chat,
      text: before + layOut(shown, telegramHtml, textMax - before.length),
      parse_mode: "HTML",
      link_preview_options: message.report?.pictureUrl
        ? { url: message.report.pictureUrl, prefer_large_media: true, show_above_text: true }
        : { is_disabled: true },
      ...(token !== undefined && { reply_markup: telegramKeyboard(allAlertButtons, token) }),
    };
    return updateOrSend(
      context,
      async (id) => {
        const response = await callBot(
          "editMessageText",
          { ...body, message_id: Number(id) },
          settings,
          context,
        );
        // An earlier attempt whose response was lost has made this change.
        if (isUnchanged(response)) return { kind: "delivered", detail: "Telegram has it.", reference: id };
        return outcomeOf(response, service, context);
      },
      async () => {
        const topic = settings.topic !== undefined && { message_thread_id: settings.topic };
        return outcomeOf(
          await callBot("sendMessage", { ...body, ...topic }, settings, context),
          service,
          context,
        );
      },
    );
  },
});

/**
 * Whether the webhook of a bot is set, by a hash of both. It is set again once a day, in case somebody has changed it, and
 * sooner if Telegram refused it, as it does without HTTPS.
 */
const webhooksSet = new LRUCache<string, boolean>({ max: 1_000 });
const setAgainMs = { isSet: 86_400_000, isRefused: 600_000 };

/**
 * Has Telegram post clicks on the bot's buttons to an address. Returns whether it does: the address must have HTTPS.
 * https://core.telegram.org/bots/api#setwebhook
 */
async function setWebhook(url: string, settings: Settings, context: Context): Promise<boolean> {
  const known = createHash("sha256").update(`${settings.server} ${settings.token} ${url}`).digest("hex");
  const before = webhooksSet.get(known);
  if (before !== undefined) return before;
  const body = {
    url,
    secret_token: telegramSecretOf(settings.token),
    allowed_updates: ["callback_query"],
  };
  const { status } = await callBot("setWebhook", body, settings, context);
  const isSet = status === 200;
  const isRefused = status >= 400 && status < 500 && status !== 429;
  if (isSet || isRefused)
    webhooksSet.set(known, isSet, { ttl: isSet ? setAgainMs.isSet : setAgainMs.isRefused });
  return isSet;
}

/** The word by which an update is known to come from Telegram: nobody else but this server has the bot's token. */
export function telegramSecretOf(token: string): string {
  return createHmac("sha256", token).update("interactions").digest("base64url");
}

/**
 * https://core.telegram.org/bots/api#inlinekeyboardmarkup
 *
 * @param done - what has been done, as a button that does nothing
 */
export function telegramKeyboard(buttons: readonly AlertButton[], token: string, done?: string) {
  const rows = buttons.map((name) => [
    { text: alertButtons[name].label, callback_data: `${name.charAt(0)}${token}` },
  ]);
  return {
    inline_keyboard: [...(done === undefined ? [] : [[{ text: done, callback_data: "done" }]]), ...rows],
  };
}

/** The button and the token of a `callback_data`, or null if it is of a button that does nothing. */
export function readCallbackData(text: string): { button: AlertButton; token: string } | null {
  const button = allAlertButtons.find((name) => text.startsWith(name.charAt(0)));
  return text === "done" || button === undefined ? null : { button, token: text.slice(1) };
}

/** Calls a method of the bot API. */
export function callBot(
  method: string,
  body: object,
  { server, token }: Pick<Settings, "server" | "token">,
  context: Context,
): Promise<ServiceResponse> {
  return sendJson("POST", joinUrl(server, `/bot${token}/${method}`), body, context);
}

function isUnchanged({ status, json }: ServiceResponse): boolean {
  return status === 400 && String(memberOf(json, "description")).includes("message is not modified");
}

/** After its markup is parsed, says the page. This counts the markup too. */
const textMax = 4_096;

/** https://core.telegram.org/bots/api#html-style */
export const telegramHtml: Markup = {
  ...plainText,
  escape: escapeHtml,
  escapeCode: escapeHtml,
  // Telegram finds @name in any text and notifies that person. An invisible word joiner keeps it from that.
  disarm: (text) => text.replace(/(?<!\w)@/g, "@\u2060"),
  strong: ["<b>", "</b>"],
  emphasis: ["<i>", "</i>"],
  deleted: ["<s>", "</s>"],
  code: ["<code>", "</code>"],
  codeBlock: ["<pre>", "</pre>"],
  quote: ["<blockquote>", "</blockquote>"],
  quotePrefix: "",
  link: htmlLink,
};
