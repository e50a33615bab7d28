import "../validation/messages.ts";
import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { nearest } from "../validation/nearest.ts";
import { optionalPageLimit, pageCursor, pageLimit } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { isoMs, looksLikeSeconds } from "./created-at.ts";
import { eventTexts } from "./event.ts";
import type { Cursor, EventFilter } from "./filter.ts";
import { isEventId } from "./id.ts";
import { parseSearch, type Search, SearchError } from "./search.ts";

export const timestamp = z
  .string()
  .superRefine((value, context) => {
    const message = faultInTimestamp(value);
    if (message !== null) context.addIssue({ code: "custom", message });
  })
  .openapi({ format: "date-time" });

/** The fault of a time in a query, as the second half of a sentence, or null. */
function faultInTimestamp(value: string): string | null {
  const ms = msOf(value);
  if (Number.isNaN(ms))
    return "must be an ISO 8601 time with an offset, such as 2026-01-31T09:30:00Z, or milliseconds since 1970";
  return isDigits(value) && looksLikeSeconds(ms)
    ? "looks like seconds. Send milliseconds since 1970, or an ISO 8601 time such as 2026-01-31T09:30:00Z"
    : null;
}

export const searchText = text({ max: limits.searchCharacters, lines: true });

/** A search that parses. */
export const validSearch = searchText.superRefine((q, context) => {
  try {
    parseSearch(q);
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    const { column, message } = error;
    context.addIssue({
      code: "custom",
      message: `is not a valid search. ${message} The mistake is at character ${column}`,
      params: { column },
    });
  }
});

/** Filters of listings and live streams. Any number of `tag.KEY=VALUE` can be added. */
export const filterParameters = {
  channel: text(eventTexts.channel).optional().openapi({ description: "Only this channel." }),
  userId: text(eventTexts.userId).optional().openapi({ description: "Only this user." }),
  name: text(eventTexts.name).optional().openapi({ description: "Only events with exactly this name." }),
  notify: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Only events with this `notify` flag." }),
  from: timestamp.optional().openapi({ description: "Start of the range, inclusive." }),
  to: timestamp.optional().openapi({ description: "End of the range, exclusive." }),
  q: searchText.optional().openapi({ description: "Only events that match this search (docs/search.md)." }),
};

export const projectParameter = z
  .string()
  .optional()
  .openapi({ description: "Slug of the project. Sessions only: an API key belongs to one project." });

export const EventListQuery = z.strictObject({
  limit: optionalPageLimit("Events"),
  cursor: pageCursor,
  order: z
    .enum(["asc", "desc"])
    .optional()
    .openapi({ description: "`asc` lists the oldest first. Default: `desc`." }),
  format: z
    .enum(["json", "ndjson", "csv"])
    .optional()
    .openapi({ description: "Overrides `Accept`. Browsers save NDJSON and CSV as a file." }),
  tags: z
    .enum(["json", "columns"])
    .optional()
    .openapi({
      description: `How CSV has tags: as JSON in one column, or with a column for each tag, of the ${limits.csvTagColumns} that most events have; the others are JSON. Default: \`json\`.`,
    }),
  ...filterParameters,
  project: projectParameter,
});

export const EventsBeforeQuery = z.strictObject({
  limit: pageLimit("Events"),
  cursor: pageCursor,
  project: projectParameter,
});

export const EventStreamQuery = z.strictObject({
  ...filterParameters,
  lastEventId: z
    .string()
    .optional()
    .openapi({ description: "Resumes after this id, for clients that can't send `Last-Event-ID`." }),
  project: projectParameter,
});

export const EventCountQuery = z.strictObject({ ...filterParameters, project: projectParameter });

export const ProjectQuery = z.strictObject({ project: projectParameter });

export const RecordQuery = z.strictObject({
  silent: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "`true`: these events notify nobody, as when old data is imported." }),
  project: projectParameter,
});

/**
 * Parses a query by its schema, in which a parameter that may be repeated is an array; `tag.KEY` parameters are
 * returned separately. Throws `query-invalid`, also for unknown parameters: if a filter were ignored, the result would
 * contain more than was requested.
 */
export function readQuery<Schema extends z.ZodObject>(
  parameters: URLSearchParams,
  schema: Schema,
  { tags: allowsTags = false } = {},
): { values: z.infer<Schema>; tags: [string, string][] } {
  const tags: [string, string][] = [];
  const values: Record<string, string | string[]> = {};
  const known = Object.keys(schema.shape);
  for (const [name, value] of parameters) {
    if (allowsTags && name.startsWith("tag.") && name.length > 4) {
      tags.push([name.slice(4), value]);
      continue;
    }
    if (!known.includes(name)) {
      const suggestion = nearest(name, [...known, ...(allowsTags ? ["tag.KEY"] : [])]);
      throw problem("query-invalid", {
        detail: `Unknown parameter "${name.slice(0, 80)}".${suggestion ? ` Did you mean "${suggestion}"?` : ""}`,
      });
    }
    if (schema.shape[name] instanceof z.ZodArray) {
      values[name] = [...(values[name] ?? []), value];
      continue;
    }
    if (Object.hasOwn(values, name)) throw problem("query-invalid", { detail: `"${name}" is sent twice.` });
    values[name] = value;
  }
  const result = schema.safeParse(values);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw problem("query-invalid", { detail: `"${issue!.path.join(".")}" ${issue!.message}.` });
  }
  return { values: result.data, tags };
}

type FilterValues = { [Name in keyof typeof filterParameters]?: string | undefined };

export function filterOf(values: FilterValues, tags: [string, string][]): EventFilter {
  const { channel, userId, name, notify, from, to, q } = values;
  const search = q === undefined ? null : readSearch(q);
  return {
    ...(channel !== undefined && { channel }),
    ...(userId !== undefined && { userId }),
    ...(name !== undefined && { name }),
    ...(notify !== undefined && { notify: notify === "true" }),
    ...(from !== undefined && { fromMs: Math.ceil(msOf(from)) }),
    ...(to !== undefined && { toMs: Math.ceil(msOf(to)) }),
    ...(tags.length > 0 && { tags }),
    ...(search !== null && { search }),
  };
}

/**
 * Parses a search. Throws `query-invalid` with the column of a syntax error.
 *
 * @param name - of the parameter, if it isn't `q`
 */
export function readSearch(q: string, name?: string): Search | null {
  try {
    return parseSearch(q);
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    const { column, message } = error;
    throw problem("query-invalid", { detail: name === undefined ? message : `${name}: ${message}`, column });
  }
}

export function msOf(timestamp: string): number {
  if (isDigits(timestamp)) return Number(timestamp);
  return isoMs(/^\d{4}-\d{2}-\d{2}$/.test(timestamp) ? `${timestamp}T00:00:00Z` : timestamp);
}

function isDigits(timestamp: string): boolean {
  return /^\d{1,15}$/.test(timestamp);
}

/** Encodes a cursor as an opaque text. */
export function encodeCursor({ ms, id }: Cursor): string {
  return Buffer.from(`${ms} ${id}`).toString("base64url");
}

/** Throws `query-invalid` if the text is not a cursor. */
export function decodeCursor(text: string): Cursor {
  const [ms, id, ...extra] = Buffer.from(text, "base64url").toString().split(" ");
  if (!/^\d{1,15}$/.test(ms ?? "") || !isEventId(id ?? "") || extra.length > 0) {
    throw problem("query-invalid", { detail: '"cursor" must be the "nextCursor" of an earlier page.' });
  }
  return { ms: Number(ms), id: id! };
}
