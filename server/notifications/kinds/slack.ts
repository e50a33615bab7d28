import { z } from "@hono/zod-openapi";
import { type AlertButton, alertButtons, allAlertButtons, withoutAlertLinks } from "../alert-buttons.ts";
import { formatTime, type Message } from "../message.ts";
import { BoundedWriter, shorten } from "../shorten.ts";
import { defineKind, tokenSetting, urlSetting } from "./kind.ts";
import { fieldsOf, linkIn, textOf, titleOf, writeTitle } from "./layout.ts";
import { escapeHtml, type Markup, plainText, writeMarkdown } from "./markup.ts";
import { mentionSetting, mentionsIn } from "./mention.ts";
import { outcomeOf, type Service, sendJson } from "./response.ts";

const settings = z.strictObject({
  url: urlSetting({
    title: "Webhook URL",
    description: "Create an app at api.slack.com/apps, turn on Incoming Webhooks, and add one for a channel.",
    secret: true,
  }),
  mention: mentionSetting({
    pattern: /^(@here|@channel|[UW][A-Z0-9]{5,20}|S[A-Z0-9]{5,20})$/,
    who: "@here, @channel, or IDs of members (U012AB3CD) and user groups (S012AB3CD)",
  }),
  signingSecret: tokenSetting({
    title: "Signing secret",
    description:
      "For buttons in messages about alerts: under Basic Information of the app. Under Interactivity, enter {server}/interactions/slack as the Request URL.",
    secret: true,
  }).optional(),
});

const service: Service = {
  name: "Slack",
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
  isGone: ({ status, body }) => status === 404 && body.trim() === "no_service",
};

/** An incoming webhook: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
export const slack = defineKind({
  kind: "slack",
  label: "Slack",
  settings,
  isInOrder: true,
  async send(message, { url, mention, signingSecret }, context) {
    const mentions = mentionsIn(message, mention).map(mentionOf);
    const token = signingSecret === undefined ? undefined : message.alert?.buttons?.token;
    const send = async (message: Message) =>
      outcomeOf(await sendJson("POST", url, render(message, mentions, token), context), service, context);
    const outcome = await send(message);
    // Slack refuses a message with a picture that it can't open, as those of servers in a network of their own.
    return outcome.kind === "failed" && message.report?.pictureUrl
      ? send({ ...message, report: { ...message.report, pictureUrl: null } })
      : outcome;
  },
});

/** https://docs.slack.dev/reference/block-kit/blocks/section-block */
const sectionMax = 3_000;
const fieldMax = 2_000;
/** Each is two texts of the ten that a section can have. */
const fieldsOfSectionMax = 5;
const footerMax = 500;
const altMax = 200;

/** https://docs.slack.dev/messaging/formatting-message-text#special-mentions */
function mentionOf(who: string): string {
  if (who.startsWith("@")) return `<!${who.slice(1)}>`;
  return who.startsWith("S") ? `<!subteam^${who}>` : `<@${who}>`;
}

function render(whole: Message, mentions: string[], buttonToken: string | undefined) {
  const message = buttonToken === undefined ? whole : withoutAlertLinks(whole);
  const title = write(sectionMax, (writer) => writeTitle(writer, message, mrkdwn));
  const text = write(sectionMax, (writer) => writeMarkdown(writer, textOf(message) ?? "", mrkdwn));
  const fields = fieldsOf(message).map(({ name, value }) => [fieldName(name), fieldValue(value)]);
  const fieldSections = Array.from({ length: Math.ceil(fields.length / fieldsOfSectionMax) }, (_, index) => ({
    type: "section",
    fields: fields.slice(index * fieldsOfSectionMax, (index + 1) * fieldsOfSectionMax).flat(),
  }));
  const first = mentions.length === 0 ? [] : [{ type: "section", text: textObject(mentions.join(" ")) }];
  const blocks = [
    ...first,
    { type: "section", text: textObject(title) },
    ...pictureBlocks(message),
    ...(text.trim() === "" ? [] : [{ type: "section", text: textObject(text) }]),
    ...fieldSections,
    ...(buttonToken === undefined ? [] : [buttonsBlock(allAlertButtons, buttonToken)]),
    { type: "context", elements: [textObject(footerOf(message))] },
  ];
  // The text is what notifications and screen readers show.
  const summary = shorten(titleOf(message), footerMax);
  return { text: escapeHtml(summary), blocks, unfurl_links: false, unfurl_media: false };
}

export const buttonsBlockId = "alert";

/** https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export function buttonsBlock(buttons: readonly AlertButton[], token: string) {
  return {
    type: "actions",
    block_id: buttonsBlockId,
    elements: buttons.map((name) => ({
      type: "button",
      action_id: name,
      text: { type: "plain_text", text: alertButtons[name].label, emoji: false },
      value: token,
    })),
  };
}

/** https://docs.slack.dev/reference/block-kit/blocks/image-block */
function pictureBlocks({ report }: Message) {
  if (!report?.pictureUrl) return [];
  return [{ type: "image", image_url: report.pictureUrl, alt_text: shorten(report.board.name, altMax) }];
}

/** In a list of fields, its name is on the left and its value on the right. */
function fieldName(name: string) {
  return { type: "plain_text", text: shorten(name, fieldMax), emoji: false };
}

/** Plain text, because nothing escapes the * of bold text. Addresses are links, which plain text has not. */
function fieldValue(value: string) {
  const url = linkIn(value);
  return url === null
    ? { type: "plain_text", text: shorten(value, fieldMax), emoji: false }
    : textObject(`${mrkdwn.link(url)[0]}${escapeHtml(value)}>`);
}

function write(max: number, inside: (writer: BoundedWriter) => void): string {
  const writer = new BoundedWriter(max);
  inside(writer);
  return writer.text;
}

/** `verbatim` keeps Slack from making links and mentions of names. */
function textObject(text: string) {
  return { type: "mrkdwn", text, verbatim: true };
}

/** Slack shows each reader the time in their own time zone. */
function footerOf({ project, createdAt }: Message): string {
  const seconds = Math.floor(Date.parse(createdAt) / 1_000);
  const name = write(footerMax, (writer) => writer.write(project.name, escapeHtml));
  return `${name} · <!date^${seconds}^{date_short_pretty} at {time}|${formatTime(createdAt)}>`;
}

/**
 * https://docs.slack.dev/messaging/formatting-message-text: only &, < and > need escaping. A mention needs a <, so an
 * escaped text never notifies anybody.
 */
export const mrkdwn: Markup = {
  ...plainText,
  escape: escapeHtml,
  // Nothing escapes a backtick in code.
  escapeCode: (code) => escapeHtml(code.replaceAll("`", "'")),
  strong: ["*", "*"],
  emphasis: ["_", "_"],
  deleted: ["~", "~"],
  code: ["`", "`"],
  codeBlock: ["```\n", "\n```"],
  quotePrefix: "> ",
  link: (url) => [`<${escapeHtml(url).replaceAll("|", "%7C")}|`, ">"],
};
