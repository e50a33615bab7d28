import type { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import type { FunnelQuery } from "../schemas/funnel.ts";
import type { RetentionQuery as RetentionParameters } from "../schemas/retention.ts";
import type { FollowQuery, RetentionQuery } from "../storage/analysis/queries.ts";
import type { MsRange } from "../storage/block.ts";
import type { Store } from "../storage/store.ts";
import { bucketStarts, defaultFromMs, timeZoneOf } from "./buckets.ts";
import { analysisSplitOf, filterAndRange, withSearch } from "./filters.ts";

const dayMs = 24 * 60 * 60 * 1_000;

type Asked<Query> = { projectId: number; query: Query; tags: [string, string][] };

/** The funnel that a request asks for. Throws `query-invalid`. */
export function funnelQueryOf({
  projectId,
  query,
  tags,
}: Asked<Omit<z.infer<typeof FunnelQuery>, "limit">>): FollowQuery {
  const { filter, fromMs, toMs } = filterAndRange(query, tags, (toMs) => toMs - 30 * dayMs);
  return {
    projectId,
    range: { fromMs, toMs },
    steps: query.step.map((step, index) => withSearch(filter, step, `Step ${index + 1}`)),
    windowMs: query.window * 1_000,
    split: analysisSplitOf(query.split, query.per),
    per: query.per,
  };
}

type RetentionQuestion = {
  per: string | undefined;
  by: z.infer<typeof RetentionParameters>["by"];
  timeZone: string;
  range: MsRange;
  /** Where periods start; the first may start before the range. */
  starts: number[];
  start: EventFilter;
  return: EventFilter;
};

/** The periods and searches of a request for retention. Throws `query-invalid`. */
export function retentionQuestionOf({
  query,
  tags,
}: Omit<Asked<z.infer<typeof RetentionParameters>>, "projectId">): RetentionQuestion {
  const { by } = query;
  const timeZone = timeZoneOf(query.timeZone);
  const { filter, fromMs, toMs } = filterAndRange(query, tags, (toMs) =>
    by === "day"
      ? defaultFromMs(by, timeZone, toMs)
      : bucketStarts(by, timeZone, toMs - 11 * 7 * dayMs - 1, toMs)[0]!,
  );
  const starts = bucketStarts(by, timeZone, fromMs, toMs);
  if (starts.length > limits.retentionPeriods) {
    throw problem("query-invalid", {
      detail: `The range has more than ${limits.retentionPeriods} ${by}s. Use ${by === "day" ? '"by=week" or ' : ""}a shorter range.`,
    });
  }
  return {
    by,
    per: query.per,
    timeZone,
    range: { fromMs, toMs },
    starts,
    start: withSearch(filter, query.start ?? "", '"start"'),
    return: withSearch(filter, query.return ?? "", '"return"'),
  };
}

/** A question about retention: `first` says which of a user's starts counts. */
export async function retentionQueryOf(
  events: Store["events"],
  {
    projectId,
    range,
    starts,
    first,
    per,
    ...filters
  }: Pick<RetentionQuestion, "range" | "starts" | "start" | "return" | "per"> & {
    projectId: number;
    first: z.infer<typeof RetentionParameters>["first"];
  },
): Promise<RetentionQuery> {
  return {
    projectId,
    per,
    bounds: [range.fromMs, ...starts.slice(1), range.toMs],
    start: filters.start,
    return: filters.return,
    historyFromMs: first === "ever" ? await firstEventMs(events, projectId) : null,
  };
}

/** When a project's first event was; null without events. */
export async function firstEventMs(events: Store["events"], projectId: number): Promise<number | null> {
  const [json] = (await events.page({ projectId, filter: {}, order: "asc" }, 1)).events;
  return json === undefined ? null : Date.parse((JSON.parse(json) as Event).createdAt);
}
