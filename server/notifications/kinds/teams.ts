import { z } from "@hono/zod-openapi";
import type { Message } from "../message.ts";
import { BoundedWriter, jsonBytes, shorten } from "../shorten.ts";
import { defineKind, urlSetting } from "./kind.ts";
import { fieldsOf, linkLabelOf, linkOf, textOf, titleOf } from "./layout.ts";
import { escapeMarkdown, type Markup, markdown, writeMarkdown } from "./markup.ts";
import { mentionSetting, mentionsIn } from "./mention.ts";
import { memberOf, outcomeOf, type Service, sendJson } from "./response.ts";

const settings = z.strictObject({
  url: urlSetting({
    title: "Workflow URL",
    description:
      "In the channel's menu: Workflows, “Send webhook alerts to a channel”. Copy the URL that it shows at the end.",
    secret: true,
  }),
  mention: mentionSetting({
    pattern: /^[^\s@<>]+@[^\s@<>]+$/,
    who: "the email addresses with which people sign in",
  }),
});

const service: Service = {
  name: "Microsoft Teams",
  reason: ({ json }) => memberOf(json, "error", "message"),
};

/**
 * A workflow that begins with a webhook:
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
 */
export const teams = defineKind({
  kind: "teams",
  label: "Microsoft Teams",
  settings,
  isInOrder: true,
  async send(message, { url, mention }, context) {
    const content = cardOf(message, mentionsIn(message, mention));
    const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
    const body = { type: "message", attachments: [attachment] };
    return outcomeOf(await sendJson("POST", url, body, context), service, context);
  },
});

/** A message has at most 28 kB, says the page, of which Teams itself uses a part. */
const cardBytesMax = 20_000;
const projectNameMax = 200;
const altMax = 200;

/** https://adaptivecards.io/explorer/AdaptiveCard.html */
function cardOf(message: Message, mentions: string[]) {
  const link = linkOf(message);
  const open = link === null ? null : { type: "Action.OpenUrl", url: link };
  // A text run shows Markdown as it is. A text block would format it.
  const color = message.urgent ? { color: "Attention" } : {};
  const run = { type: "TextRun", text: titleOf(message), size: "Large", weight: "Bolder", ...color };
  const title = { type: "RichTextBlock", inlines: [{ ...run, ...(open && { selectAction: open }) }] };
  const facts = fieldsOf(message).map(({ name, value }) => ({
    title: escapeMarkdown(name),
    value: escapeMarkdown(value),
  }));
  const factSets = facts.length > 0 ? [{ type: "FactSet", facts }] : [];
  const pictures = message.report?.pictureUrl
    ? [{ type: "Image", url: message.report.pictureUrl, altText: shorten(message.report.board.name, altMax) }]
    : [];
  const footer = { type: "TextBlock", text: footerOf(message), isSubtle: true, size: "Small", wrap: true };
  const card = (body: object[]) => ({
    type: "AdaptiveCard",
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    version: "1.4",
    body,
    ...(open && { actions: [{ ...open, title: linkLabelOf(message) }] }),
    msteams: { width: "Full", ...(mentions.length > 0 && { entities: mentions.map(entityOf) }) },
  });
  const called =
    mentions.length === 0 ? [] : [{ type: "TextBlock", text: mentions.map(atOf).join(" "), wrap: true }];
  const head = [...called, title, ...pictures];
  const rest = Buffer.byteLength(JSON.stringify(card([...head, ...factSets, footer])));
  const writer = new BoundedWriter(cardBytesMax - rest, jsonBytes);
  writeMarkdown(writer, textOf(message) ?? "", teamsMarkdown);
  const { text } = writer;
  const texts = text.trim() === "" ? [] : [{ type: "TextBlock", text, wrap: true }];
  return card([...head, ...texts, ...factSets, footer]);
}

/**
 * https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format#user-mention-in-incoming-webhook-with-adaptive-cards
 */
function entityOf(address: string) {
  return { type: "mention", text: atOf(address), mentioned: { id: address, name: address } };
}

function atOf(address: string): string {
  return `<at>${address}</at>`;
}

/**
 * Bold, italic, lists and links, nothing else:
 * https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format
 */
const teamsMarkdown: Markup = { ...markdown, quotePrefix: "", lineBreak: "\n\n" };

/** Teams shows each reader the time in their own time zone: https://adaptivecards.io/explorer/TextBlock.html */
function footerOf({ project, createdAt }: Message): string {
  const at = new Date(createdAt).toISOString().replace(/\.\d+/, "");
  const name = escapeMarkdown(shorten(project.name, projectNameMax));
  return `${name} · {{DATE(${at},SHORT)}} {{TIME(${at})}}`;
}
