import { eventOf } from "../event.ts";
import type { Item } from "../item.ts";
import { filledText, isObject, type JsonObject, objectOf } from "../text.ts";
import { hasLabelledLink, mentionsAll, toMarkdown, toPlain } from "./mrkdwn.ts";

/** Slack cuts a message there. A longer text would take long to convert. */
const textCharactersMax = 40_000;

type Options = {
  /** For messages that don't name a channel. */
  channel: string;
  /** Whether every message notifies. */
  notify: boolean;
};

/** The event of a message; null if it has no text. */
export function itemOf(message: JsonObject, { channel, notify }: Options, nowMs: number): Item | null {
  const blocks = listOf(message.blocks);
  const attachments = listOf(message.attachments);
  const texts = [
    markupOf(message.text),
    ...blocks.map(textOfBlock),
    ...attachments.flatMap(textsOfAttachment),
  ].filter((text) => text !== undefined && text.trim() !== "") as string[];
  const named = nameSource(message, blocks, attachments);
  const name =
    named &&
    toPlain(named)
      .split(/[\r\n]/)
      .find((line) => line.trim() !== "");
  if (name === undefined || name === "") return null;
  const saysMore = texts.some((text) => toPlain(text).trim() !== name.trim() || hasLabelledLink(text));
  const fields = attachments.flatMap(({ fields }) => listOf(fields));
  return {
    event: eventOf(
      {
        channel: markupOf(message.channel)?.replace(/^[#@]/, "") || channel,
        name: name.trim(),
        icon: message.icon_emoji,
        notify: notify || texts.some(mentionsAll),
        description: saysMore ? texts.map(toMarkdown).join("\n\n") : undefined,
        properties: Object.fromEntries([
          ...fields.map(({ title, value }) => [plainOf(title), plainOf(value)]),
          ["username", markupOf(message.username)],
        ]),
      },
      nowMs,
    ),
    sent: message,
  };
}

/** The text whose first line is the name: the header's, or the first one that there is. */
function nameSource(
  message: JsonObject,
  blocks: JsonObject[],
  attachments: JsonObject[],
): string | undefined {
  const candidates = [
    ...blocks.filter(({ type }) => type === "header").map(textOfBlock),
    message.text,
    ...blocks.map(textOfBlock),
    ...attachments.flatMap((attachment) => [
      attachment.pretext,
      attachment.title,
      attachment.text,
      attachment.fallback,
      ...textsOfAttachment(attachment),
    ]),
  ];
  return candidates.map(markupOf).find((text) => text !== undefined && text.trim() !== "");
}

function textOfBlock(block: JsonObject): string | undefined {
  switch (block.type) {
    case "header":
    case "section":
      return joined("\n", [
        textIn(block.text),
        ...listOf(block.fields).map(textIn),
        isObject(block.accessory) ? elementText(block.accessory) : undefined,
      ]);
    case "actions":
      return joined(" · ", listOf(block.elements).map(elementText));
    case "context":
      return joined(
        " ",
        listOf(block.elements).map((element) => textIn(element) ?? imageText(element)),
      );
    case "rich_text":
      return joined("\n", listOf(block.elements).map(richTextOf));
    case "image":
      return imageText(block);
    default:
      return markupOf(block.text) ?? textIn(block.text);
  }
}

/** A button or an image beside a text. A button without an address does nothing outside of Slack. */
function elementText(element: JsonObject): string | undefined {
  if (element.type === "image") return imageText(element);
  const url = filledText(element.url);
  return url === undefined ? undefined : link(url, textIn(element.text) ?? markupOf(element.text) ?? url);
}

/** An image as a link, since images aren't loaded from elsewhere. */
function imageText({ title, alt_text, image_url }: JsonObject): string | undefined {
  const texts = [textIn({ text: title }) ?? markupOf(title), markupOf(alt_text)];
  const label = joined("\n", texts);
  const url = filledText(image_url);
  return url === undefined ? label : link(url, label ?? "Image");
}

function link(url: string, label: string): string {
  return `<${escaped(url)}|${label}>`;
}

function markupOf(value: unknown): string | undefined {
  return filledText(value)?.slice(0, textCharactersMax);
}

function textIn(value: unknown): string | undefined {
  return markupOf(objectOf(value).text);
}

/** The text of a `rich_text` element, with the elements in it; its texts aren't escaped. */
function richTextOf(element: JsonObject): string | undefined {
  const { type, text, url, name, range } = element;
  if (type === "link") return text ? `<${url}|${escaped(text)}>` : `<${url}>`;
  if (type === "broadcast") return `<!${range}>`;
  if (type === "emoji") return `:${name}:`;
  if (typeof text === "string") return escaped(text);
  const separator = type === "rich_text_list" ? "\n" : "";
  return joined(separator, listOf(element.elements).map(richTextOf));
}

function escaped(text: unknown): string {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function textsOfAttachment(attachment: JsonObject): (string | undefined)[] {
  const { pretext, title, title_link, text, fallback, blocks, actions } = attachment;
  const { author_name, author_link, image_url, thumb_url, footer } = attachment;
  const image = filledText(image_url) ?? filledText(thumb_url);
  const texts = [
    markupOf(pretext),
    linked(author_name, author_link),
    linked(title, title_link),
    markupOf(text),
    ...listOf(blocks).map(textOfBlock),
    joined(" · ", listOf(actions).map(elementText)),
    image === undefined ? undefined : imageText({ image_url: image }),
    markupOf(footer),
  ];
  return texts.some((part) => part !== undefined) ? texts : [markupOf(fallback)];
}

function linked(text: unknown, url: unknown): string | undefined {
  const label = markupOf(text);
  const address = filledText(url);
  return label === undefined || address === undefined ? label : link(address, label);
}

function joined(separator: string, texts: (string | undefined)[]): string | undefined {
  return texts.filter((text) => text !== undefined).join(separator) || undefined;
}

function plainOf(value: unknown): string | undefined {
  const text = markupOf(value);
  return text === undefined ? undefined : toPlain(text);
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
