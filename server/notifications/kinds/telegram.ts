import { z } from "@hono/zod-openapi";
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
  send(message, settings, context) {
    const mentions = mentionsIn(message, settings.mention).map((name) => `${name} `);
    const before = mentions.length === 0 ? "" : `${mentions.join("").trim()}\n`;
    const body = {
      chat_id: settings.chat,
      text: before + layOut(message, telegramHtml, textMax - before.length),
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
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

function callBot(
  method: string,
  body: object,
  { server, token }: Settings,
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
