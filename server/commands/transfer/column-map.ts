import { NewEvent } from "../../event/event.ts";
import { nearest } from "../../validation/nearest.ts";
import { ArgumentError } from "../with-store.ts";
import { type Convert, tagsOf } from "./formats.ts";
import { timeOf } from "./time-of.ts";

const fields = Object.keys(NewEvent.shape).filter((field) => field !== "user_id" && field !== "tags");
const otherColumns = "*";

/**
 * Parses `--map`: FIELD=COLUMN, separated by commas. A field is one of an event's, or `tags.KEY`; `tags=*` makes a tag of
 * every other column. Throws an ArgumentError.
 */
export function parseColumnMap(text: string): Convert {
  const columns = new Map<string, string>();
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    const field = pair.slice(0, Math.max(equals, 0)).trim();
    const isTag = field.startsWith("tags.") || pair.trim() === `tags=${otherColumns}`;
    if (!isTag && !fields.includes(field)) {
      const suggestion = nearest(field, fields);
      throw new ArgumentError(
        `--map must be FIELD=COLUMN, separated by commas; "${pair}" has none of the fields ${fields.join(", ")}, tags.KEY.${suggestion ? ` Did you mean "${suggestion}"?` : ""}`,
      );
    }
    columns.set(field, pair.slice(equals + 1).trim());
  }
  const named = new Set(columns.values());
  return (record, channel) => {
    const event: Record<string, unknown> = { ...(channel !== undefined && { channel }) };
    const tags: Record<string, unknown> = {};
    for (const [field, column] of columns) {
      if (field === "tags") {
        for (const [name, value] of Object.entries(record)) if (!named.has(name)) tags[name] = value;
        continue;
      }
      const value = record[column];
      if (value === undefined || value === "" || value === null) continue;
      if (field.startsWith("tags.")) tags[field.slice("tags.".length)] = value;
      else if (field === "createdAt") event.createdAt = timeOf(value);
      else if (field === "notify") event.notify = /^(true|1|yes)$/i.test(String(value));
      else event[field] = String(value);
    }
    if (Object.keys(tags).length > 0) event.tags = tagsOf(tags);
    // An ID that is none of ours tells events apart all the same.
    const { id, ...rest } = event;
    return typeof id === "string" ? { event: rest, sourceId: id } : { event: rest };
  };
}

/** The columns that a map needs. Throws a UsageError that lists the file's if one is missing. */
export function checkColumns(text: string, header: string[]): void {
  for (const pair of text.split(",")) {
    const column = pair.slice(pair.indexOf("=") + 1).trim();
    if (column === otherColumns || header.includes(column)) continue;
    throw new ArgumentError(`The file has no column "${column}". Its columns: ${header.join(", ")}.`);
  }
}
