import { defineCommand } from "citty";
import { limits } from "../core/limits.ts";
import type { Event, EventList } from "../event/event.ts";
import { csvHeader, csvRow } from "../event/event-format.ts";
import { eventLine } from "./event-line.ts";
import { countOf, filterArgs, filterQuery } from "./filter-args.ts";
import { printLine, write } from "./output.ts";
import { type Source, sourceArgs, withSource } from "./source.ts";

export const listCommand = defineCommand({
  meta: { name: "list", description: "List events, newest first" },
  args: {
    ...filterArgs,
    limit: { type: "string", default: "20", description: "Number of events", valueHint: "N" },
    format: {
      type: "enum",
      options: ["text", "ndjson", "csv"],
      default: "text",
      description: "How to print them",
    },
    json: { type: "boolean", description: "The same as --format ndjson" },
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const format = args.json ? "ndjson" : args.format;
      const lineOf = { text: eventLine, ndjson: JSON.stringify as (event: Event) => string, csv: csvRow }[
        format
      ];
      if (format === "csv") await write(csvHeader);
      for await (const event of newestEvents(source, filterQuery(args), countOf("--limit", args.limit)))
        await (format === "csv" ? write(lineOf(event)) : printLine(lineOf(event)));
    }),
});

/** Up to `count` events, newest first. */
export async function* newestEvents(
  source: Source,
  query: URLSearchParams,
  count: number,
): AsyncGenerator<Event> {
  for (let left = count; left > 0; ) {
    query.set("limit", String(Math.min(left, limits.pageItems)));
    const { events, nextCursor } = await source.json<EventList>(`/api/events?${query}`);
    yield* events;
    left -= events.length;
    if (!nextCursor) return;
    query.set("cursor", nextCursor);
  }
}
