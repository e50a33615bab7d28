import { z } from "@hono/zod-openapi";
import type { Message } from "../message.ts";
import { BoundedWriter, shorten } from "../shorten.ts";
import { defineKind, urlSetting } from "./kind.ts";
import { fieldsOf, linkIn, linkOf, textOf, titleOf } from "./layout.ts";
import { escapeMarkdown, type Markup, markdown, writeMarkdown } from "./markup.ts";
import { mentionSetting, mentionsIn } from "./mention.ts";
import { memberOf, outcomeOf, type Service, sendJson, updateOrSend } from "./response.ts";

const settings = z.strictObject({
  url: urlSetting({
    title: "Webhook URL",
    description: "In the channel's settings: Integrations, Webhooks, New Webhook, Copy Webhook URL.",
    secret: true,
  }).refine(
    (url) => /^\/api(\/v\d+)?\/webhooks\/\d+\/[\w-]+\/?$/.test(URL.parse(url)?.pathname ?? ""),
    "must end with /api/webhooks/, the webhook's id and its token",
  ),
  mention: mentionSetting({
    pattern: /^(@here|@everyone|&?\d{15,20})$/,
    who: "@here, @everyone, or IDs of users (80351110224678912) and, after an &, of roles (&165511591545143296)",
  }),
});

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const unknownWebhook = 10_015;

const service: Service = {
  name: "Discord",
  reason: ({ json }) => {
    const errors = memberOf(json, "errors");
    return (
      [memberOf(json, "message"), errors && JSON.stringify(errors)].filter(Boolean).join(" ") || undefined
    );
  },
  // https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit
  retryAfterMs: ({ json }) => Number(memberOf(json, "retry_after")) * 1_000,
  isGone: ({ status, json }) => status === 404 && memberOf(json, "code") === unknownWebhook,
  reference: ({ json }) => memberOf(json, "id"),
};

/** A webhook: https://discord.com/developers/docs/resources/webhook#execute-webhook */
export const discord = defineKind({
  kind: "discord",
  label: "Discord",
  settings,
  isInOrder: true,
  send(message, { url, mention }, context) {
    const body = { embeds: [render(message)], ...mentioning(mentionsIn(message, mention)) };
    return updateOrSend(
      context,
      async (id) => {
        const address = new URL(url);
        address.pathname = `${address.pathname.replace(/\/$/, "")}/messages/${encodeURIComponent(id)}`;
        return outcomeOf(await sendJson("PATCH", address.href, body, context), service, context);
      },
      async () => {
        const address = new URL(url);
        // The response comes when the message is stored, and has its id.
        address.searchParams.set("wait", "true");
        return outcomeOf(await sendJson("POST", address.href, body, context), service, context);
      },
    );
  },
});

/** No text of an embed mentions anybody: https://discord.com/developers/docs/resources/message#allowed-mentions-object */
function mentioning(mentions: string[]) {
  if (mentions.length === 0) return { allowed_mentions: { parse: [] } };
  const words = mentions.filter((who) => who.startsWith("@"));
  const roles = mentions.flatMap((who) => (who.startsWith("&") ? [who.slice(1)] : []));
  const users = mentions.filter((who) => /^\d/.test(who));
  return {
    content: [...words, ...roles.map((id) => `<@&${id}>`), ...users.map((id) => `<@${id}>`)].join(" "),
    // It stands for @here, too.
    allowed_mentions: { parse: words.length > 0 ? ["everyone"] : [], roles, users },
  };
}

/** https://discord.com/developers/docs/resources/message#embed-object-embed-limits */
const titleMax = 256;
const descriptionMax = 4_096;
const footerMax = 200;
const embedMax = 6_000;
/** So that all fields leave room for a description, also if each character is escaped. */
const [nameMax, valueMax] = [64, 150];
/** Fields with values up to this length share a row. */
const inlineMax = 30;
const urgentColor = 0xd9_2d_20;

function render(message: Message) {
  const title = shorten(escapeMarkdown(titleOf(message)), titleMax);
  const footer = shorten(message.project.name, footerMax);
  const fields = fieldsOf(message).map(({ name, value }) => ({
    name: shorten(escapeMarkdown(name), nameMax),
    // Escaping would change where a link leads.
    value: linkIn(value) ?? shorten(escapeMarkdown(value), valueMax),
    inline: value.length <= inlineMax,
  }));
  const fieldsLength = fields.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  const used = title.length + footer.length + fieldsLength;
  const text = new BoundedWriter(Math.min(descriptionMax, embedMax - used));
  writeMarkdown(text, textOf(message) ?? "", discordMarkdown);
  const link = linkOf(message);
  return {
    title,
    ...(link !== null && { url: link }),
    ...(text.text.trim() !== "" && { description: text.text }),
    fields,
    footer: { text: footer },
    timestamp: message.createdAt,
    ...(message.urgent && { color: urgentColor }),
  };
}

/** https://support.discord.com/hc/en-us/articles/210298617: no images, no tables. */
const discordMarkdown: Markup = {
  ...markdown,
  deleted: ["~~", "~~"],
  code: ["`", "`"],
  codeBlock: ["```\n", "\n```"],
  // Nothing escapes a backtick in code.
  escapeCode: (code) => code.replaceAll("`", "'"),
  bareLink: (url) => `<${url}>`,
};
