import type { Event } from "../../event/event.ts";
import { formatTime, type Message } from "../message.ts";
import { BoundedWriter, shorten } from "../shorten.ts";
import { escapeMarkdown, type Markup, plainText, writeMarkdown } from "./markup.ts";

/** More would bury the rest of the message. */
const fieldsMax = 20;
const fieldNameMax = 64;
const fieldValueMax = 150;
const urlMax = 1_000;

/** Begins the titles of urgent messages. Every service shows it, and few have another way to stand out. */
const urgentMark = "🚨";

export function titleOf({ icon, title, urgent }: Pick<Message, "icon" | "title" | "urgent">): string {
  return [...(urgent ? [urgentMark] : []), ...(icon === null ? [] : [icon]), title].join(" ");
}

/** The URL of a message; null if it is too long for a service, as those of long searches can be. */
export function linkOf({ url }: Message): string | null {
  const href = URL.parse(url)?.href;
  return href !== undefined && href.length <= urlMax ? href : null;
}

/** The label of a link to the message's URL. */
export function linkLabelOf({ type }: Message): string {
  if (type === "test") return "Open Tidings";
  if (type === "report") return "Open the board";
  return type === "event" ? "View event" : "View events";
}

/** What a recipient can do with an open alert, each by a link that opens a page which asks again. */
export function alertActionsOf({ alert }: Message): { label: string; url: string }[] {
  if (!alert) return [];
  return [
    { label: "Acknowledge", url: `${alert.url}?do=acknowledge` },
    { label: "Snooze for an hour", url: `${alert.url}?do=acknowledge&minutes=60` },
    { label: "Resolve", url: `${alert.url}?do=resolve` },
  ];
}

/** The link to the picture of a report, for services that show none. */
function pictureLink({ report }: Message): string {
  return report?.pictureUrl ? `[Picture of the charts](${report.pictureUrl})` : "";
}

/**
 * The links of an alert, the description, and the newest events that it tells of, as Markdown; null if there is none of
 * them. The links come first, because long texts are cut.
 */
export function textOf(message: Message): string | null {
  const { text, type, newest } = message;
  const actions = alertActionsOf(message).map(({ label, url }) => `[${label}](${url})`);
  const parts = [actions.join(" · "), text ?? "", newestText(type, newest), pictureLink(message)].filter(
    (part) => part.trim() !== "",
  );
  return parts.length === 0 ? null : parts.join("\n\n");
}

function newestText(type: Message["type"], newest: Message["newest"]): string {
  const [first] = newest;
  if (!first) return "";
  if (type === "digest")
    return ["Newest:", "", ...newest.map((event) => `- ${lineOfEvent(event)}`)].join("\n");
  return `${newestLabelOf(type)}: ${lineOfEvent(first)}`;
}

/** The label of a message's newest event. */
export function newestLabelOf(type: string): string {
  if (type === "silence") return "Last";
  return type === "recovery" ? "Now" : "Newest";
}

function lineOfEvent({ name, channelId, userId, createdAt }: Event): string {
  const about = [channelId, userId, formatTime(createdAt)].filter((part) => part !== "");
  return `**${escapeMarkdown(name)}** · ${escapeMarkdown(about.join(" · "))}`;
}

/** The fields as one line each. None is blank, because several services reject blank texts. */
export function fieldsOf({ fields }: Message): { name: string; value: string }[] {
  const shown = fields.length > fieldsMax ? fields.slice(0, fieldsMax - 1) : fields;
  const more = fields.length - shown.length;
  return [...shown, ...(more > 0 ? [{ name: "…", value: `${more} more` }] : [])].map(({ name, value }) => ({
    name: lineOf(name, fieldNameMax),
    value: lineOf(value, fieldValueMax),
  }));
}

/** The address that a field's whole value is; null if it is something else, or was shortened. */
export function linkIn(value: string): string | null {
  return /^https?:\/\/[^\s<>…]+$/.test(value) && URL.canParse(value) ? value : null;
}

function lineOf(text: string, max: number): string {
  return shorten(text.replace(/\s+/g, " ").trim(), max) || "–";
}

function footerOf({ project, createdAt }: Message): string {
  return `${project.name} · ${formatTime(createdAt)}`;
}

/** Shares of the parts in the size of a message. The description has the rest. */
const titleShare = 0.35;
const fieldsShare = 0.3;
const footerShare = 0.1;

/**
 * Writes a whole message as one text: title, description, fields and footer. Its size is at most `sizeMax`, as `sizeOf`
 * measures it (default: UTF-16 code units).
 */
export function layOut(
  message: Message,
  markup: Markup,
  sizeMax: number,
  sizeOf?: (text: string) => number,
): string {
  const title = new BoundedWriter(sizeMax * titleShare, sizeOf);
  title.enclose(markup.paragraph, () => writeTitle(title, message, markup));
  return joinParts([title.text, ...bodyParts(message, markup, sizeMax - size(title), sizeOf)], markup);
}

/** The same without the title, as plain text, for services that show the title themselves. Never blank. */
export function plainBody(message: Message, sizeMax: number, sizeOf?: (text: string) => number): string {
  return joinParts(bodyParts(message, plainText, sizeMax, sizeOf), plainText);
}

/** Writes the title, linked to what the message tells of. */
export function writeTitle(writer: BoundedWriter, message: Message, markup: Markup): void {
  const write = () => writer.write(markup.disarm(titleOf(message)), markup.escape);
  const link = linkOf(message);
  writer.enclose(markup.strong, () => {
    if (link === null) write();
    else writer.enclose(markup.link(link), write);
  });
}

function bodyParts(
  message: Message,
  markup: Markup,
  sizeMax: number,
  sizeOf?: (text: string) => number,
): string[] {
  const fields = new BoundedWriter(sizeMax * fieldsShare, sizeOf);
  fields.enclose(markup.paragraph, () => {
    for (const [index, { name, value }] of fieldsOf(message).entries()) {
      if (index > 0) fields.writeWhole(markup.lineBreak);
      fields.enclose(markup.strong, () => fields.write(markup.disarm(name), markup.escape));
      fields.write(`: ${markup.disarm(value)}`, markup.escape);
    }
  });
  const footer = new BoundedWriter(sizeMax * footerShare, sizeOf);
  footer.enclose(markup.paragraph, () => footer.write(markup.disarm(footerOf(message)), markup.escape));
  const gaps = 3 * footer.sizeOf(markup.gap);
  const text = new BoundedWriter(sizeMax - gaps - size(fields) - size(footer), sizeOf);
  const description = textOf(message);
  if (description !== null) writeMarkdown(text, description, markup);
  return [text.text, fields.text, footer.text];
}

function size({ text, sizeOf }: BoundedWriter): number {
  return sizeOf(text);
}

function joinParts(parts: string[], { gap }: Markup): string {
  return parts.filter((part) => part.trim() !== "").join(gap);
}
