import type { Event } from "../wire/event.ts";

const columns = [
  "id",
  "createdAt",
  "channelId",
  "name",
  "userId",
  "notify",
  "icon",
  "event",
  "description",
  "tags",
] as const;

/** The first row of a listing as CSV (RFC 4180). */
export const csvHeader = `${columns.join(",")}\r\n`;

/** An event as a row; its tags are JSON. */
export function csvRow(event: Event): string {
  const cells = columns.map((column) => {
    const value = event[column];
    return cellOf(typeof value === "object" ? JSON.stringify(value) : String(value ?? ""));
  });
  return `${cells.join(",")}\r\n`;
}

/**
 * A text as a cell. Spreadsheets run what looks like a formula, and the texts are strangers': an apostrophe before it makes it
 * a text (https://owasp.org/www-community/attacks/CSV_Injection).
 */
function cellOf(text: string): string {
  const guarded = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
