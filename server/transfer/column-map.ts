import { eventMembers } from "../event/apply-fixes.ts";
import { tagColumnPrefix } from "../event/event-format.ts";
import { type Convert, tagsOf } from "./formats.ts";
import { timeOf } from "./time-of.ts";

/**
 * The columns of a table that become an event's fields: `[field, column]`. A field is one of `mappedFields` or `tags.KEY`;
 * with the field `tags`, every other column becomes a tag.
 */
export type ColumnMap = readonly (readonly [field: string, column: string])[];

export const mappedFields = eventMembers.filter((field) => field !== "user_id" && field !== "tags");

export function convertColumns(columns: ColumnMap): Convert {
  const named = new Set(columns.map(([, column]) => column));
  return (record, channel) => {
    const event: Record<string, unknown> = { ...(channel !== undefined && { channel }) };
    // Without a prototype, so that a column `__proto__` is one like all others.
    const tags: Record<string, unknown> = Object.create(null);
    for (const [field, column] of columns) {
      if (field === "tags") {
        for (const [name, value] of Object.entries(record))
          if (!named.has(name)) Object.assign(tags, tagsOfColumn(name, value));
        continue;
      }
      const value = record[column];
      if (value === undefined || value === "" || value === null) continue;
      if (field.startsWith(tagColumnPrefix)) tags[field.slice(tagColumnPrefix.length)] = value;
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

/** What a column becomes that no field names. Our own exports have tags in columns `tags.KEY`, and others as JSON. */
function tagsOfColumn(name: string, value: unknown): Record<string, unknown> {
  if (name === "tags" && typeof value === "string" && value.startsWith("{")) {
    try {
      return JSON.parse(value) as Record<string, unknown>;
    } catch {
      // Another text that begins so.
    }
  }
  const key = name.startsWith(tagColumnPrefix) ? name.slice(tagColumnPrefix.length) : name;
  return { [key || name]: value };
}
