import { z } from "@hono/zod-openapi";
import { type AlertButton, alertButtons, allAlertButtons, withoutAlertLinks } from "../alert-buttons.ts";
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
  publicKey: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be the public key of the application, 64 hexadecimal digits")
    .meta({
      title: "Public key",
      description:
        "For buttons in messages about alerts, if an application owns the webhook: under General Information of the application. Enter {server}/interactions/discord/ and this key as its Interactions Endpoint URL.",
    })
    .optional(),
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
  async send(message, { url, mention, publicKey }, context) {
    const token = publicKey === undefined ? undefined : message.alert?.buttons?.token;
    const mentions = mentioning(mentionsIn(message, mention));
    const withLinks = { embeds: [render(message)], ...mentions };
    const body =
      token === undefined
        ? withLinks
        : {
            embeds: [render(withoutAlertLinks(message))],
            ...mentions,
            components: [buttonsRow(allAlertButtons, token)],
          };
    const update = async (id: string, body: object) => {
      const address = new URL(url);
      address.pathname = `${address.pathname.replace(/\/$/, "")}/messages/${encodeURIComponent(id)}`;
      return outcomeOf(await sendJson("PATCH", address.href, body, context), service, context);
    };
    return updateOrSend(
      context,
      (id) => update(id, body),
      async () => {
        const address = new URL(url);
        // The response comes when the message is stored, and has its id.
        address.searchParams.set("wait", "true");
        const response = await sendJson("POST", address.href, body, context);
        const outcome = outcomeOf(response, service, context);
        const id = memberOf(response.json, "id");
        const hasLost = token !== undefined && outcome.kind === "delivered" && !hasButtons(response.json);
        // If the links can't be added either, the message has arrived all the same.
        if (hasLost && typeof id === "string") await update(id, withLinks);
        return outcome;
      },
    );
  },
});

/** Discord drops the buttons of a webhook that no application owns, and says nothing. */
function hasButtons(message: unknown): boolean {
  const components = memberOf(message, "components");
  return Array.isArray(components) && components.length > 0;
}

const actionRow = 1;
const button = 2;
const [secondaryStyle, primaryStyle] = [2, 1];

/**
 * https://docs.discord.com/developers/components/reference#button
 *
 * @param done - what has been done, as a button that can't be clicked
 */
export function buttonsRow(buttons: readonly AlertButton[], token: string, done?: string) {
  return {
    type: actionRow,
    components: [
      ...(done === undefined
        ? []
        : [{ type: button, style: secondaryStyle, label: done, custom_id: "done", disabled: true }]),
      ...buttons.map((name) => ({
        type: button,
        style: name === "acknowledge" ? primaryStyle : secondaryStyle,
        label: alertButtons[name].label,
        custom_id: `${name}.${token}`,
      })),
    ],
  };
}

/**
 * No text of an embed mentions anybody: https://discord.com/developers/docs/resources/message#allowed-mentions-object
 */
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
    ...(message.report?.pictureUrl && { image: { url: message.report.pictureUrl } }),
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
