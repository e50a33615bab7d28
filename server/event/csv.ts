import type { Event } from "./event.ts";

/** Header row of a CSV listing (RFC 4180). */
export const csvHeader = "id,createdAt,channelId,name,userId,notify,icon,event,description,tags\r\n";

/** One event as a row. Tags are JSON. */
export function csvRow(event: Event): string {
  const { id, createdAt, channelId, name, userId, notify, icon = "", description = "", tags } = event;
  const texts = `${cellOf(channelId)},${cellOf(name)},${cellOf(userId)},${notify},${cellOf(icon)}`;
  const ending = `${cellOf(event.event ?? "")},${cellOf(description)},${cellOf(JSON.stringify(tags))}`;
  return `${id},${createdAt},${texts},${ending}\r\n`;
}

/**
 * Quotes a text as a cell. Spreadsheets run texts that look like formulas, some also with full-width characters. A
 * leading apostrophe prevents that (https://owasp.org/www-community/attacks/CSV_Injection).
 */
export function cellOf(text: string): string {
  const guarded = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
