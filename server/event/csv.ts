import type { Event } from "./event.ts";

/** The first row of a listing as CSV (RFC 4180). */
export const csvHeader = "id,createdAt,channelId,name,userId,notify,icon,event,description,tags\r\n";

/** An event as a row; its tags are JSON. */
export function csvRow(event: Event): string {
  const { id, createdAt, channelId, name, userId, notify, icon = "", description = "", tags } = event;
  const texts = `${cellOf(channelId)},${cellOf(name)},${cellOf(userId)},${notify},${cellOf(icon)}`;
  const ending = `${cellOf(event.event ?? "")},${cellOf(description)},${cellOf(JSON.stringify(tags))}`;
  return `${id},${createdAt},${texts},${ending}\r\n`;
}

/**
 * A text as a cell. Spreadsheets run what looks like a formula, some also in full-width characters, and the texts are strangers': an
 * apostrophe before it makes it a text (https://owasp.org/www-community/attacks/CSV_Injection).
 */
function cellOf(text: string): string {
  const guarded = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
