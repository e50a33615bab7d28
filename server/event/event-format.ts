import { parseAccept } from "hono/utils/accept";
import type { Event } from "./event.ts";

/** Format of a listing: JSON, lines of JSON, or CSV rows. */
export type EventFormat = "json" | "ndjson" | "csv";

/** Media types. The first is the default. */
export const mediaTypes: Record<EventFormat, string> = {
  json: "application/json",
  ndjson: "application/x-ndjson",
  csv: "text/csv",
};

/** The format that an `Accept` header prefers (RFC 9110, section 12.5.1); JSON if it accepts none of them. */
export function acceptedFormat(accept: string | null): EventFormat {
  const ranges = parseAccept(accept ?? "");
  let best: { format: EventFormat; q: number; specificity: number } = {
    format: "json",
    q: 0,
    specificity: 0,
  };
  for (const format of ["json", "ndjson", "csv"] as const) {
    const mediaType = mediaTypes[format];
    const bySpecificity = ["*/*", `${mediaType.split("/")[0]}/*`, mediaType];
    // The most specific range gives a type's weight. Between equal weights, the type that is named more specifically
    // wins.
    let match = { q: 0, specificity: -1 };
    for (const { type, q } of ranges) {
      const specificity = bySpecificity.indexOf(type.toLowerCase());
      if (specificity > match.specificity) match = { q, specificity };
    }
    const { q, specificity } = match;
    const isBetter = q > best.q || (q === best.q && q > 0 && specificity > best.specificity);
    if (isBetter) best = { format, q, specificity };
  }
  return best.format;
}

const columnsBeforeTags = "id,createdAt,channelId,name,userId,notify,icon,event,description";

/** Header row of a CSV listing (RFC 4180). */
export const csvHeader = `${columnsBeforeTags},tags\r\n`;

/** One event as a row. Tags are JSON. */
export function csvRow(event: Event): string {
  return `${cellsBeforeTags(event)},${cellOf(JSON.stringify(event.tags))}\r\n`;
}

/** The prefix of a tag's column, so that its name is none of an event's fields. */
export const tagColumnPrefix = "tags.";

/** Header row of a CSV listing with a column for each of these tags, and one for all others. */
export function csvHeaderWith(tagColumns: readonly string[]): string {
  const names = tagColumns.map((key) => cellOf(tagColumnPrefix + key));
  return `${[columnsBeforeTags, ...names, "tags"].join(",")}\r\n`;
}

/** One event as a row with a column for each of these tags. The last cell has all others as JSON, if there are any. */
export function csvRowWith(event: Event, tagColumns: readonly string[]): string {
  const { tags } = event;
  const cells = tagColumns.map((key) => (Object.hasOwn(tags, key) ? cellOf(tags[key]!) : ""));
  // An empty cell is no tag, so an empty tag is among the others.
  const others = Object.entries(tags).filter(([key, value]) => value === "" || !tagColumns.includes(key));
  // Unlike an assignment, this keeps a tag `__proto__`.
  const rest = others.length > 0 ? cellOf(JSON.stringify(Object.fromEntries(others))) : "";
  return `${[cellsBeforeTags(event), ...cells, rest].join(",")}\r\n`;
}

function cellsBeforeTags(event: Event): string {
  const { id, createdAt, channelId, name, userId, notify, icon = "", description = "" } = event;
  const texts = `${cellOf(channelId)},${cellOf(name)},${cellOf(userId)},${notify},${cellOf(icon)}`;
  return `${id},${createdAt},${texts},${cellOf(event.event ?? "")},${cellOf(description)}`;
}

/**
 * Quotes a text as a cell. Spreadsheets run texts that look like formulas, some also with full-width characters. A
 * leading apostrophe prevents that (https://owasp.org/www-community/attacks/CSV_Injection). A text that looks guarded
 * gets one too, so that `unguarded` gives every text back.
 */
export function cellOf(text: string): string {
  const guarded = /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** A cell's text without the apostrophe that guards it. */
export function unguarded(cell: string): string {
  return cell.replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, "");
}
