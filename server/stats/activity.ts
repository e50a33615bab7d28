import type { z } from "@hono/zod-openapi";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type {
  Lifecycle,
  LifecycleUsersQuery,
  Stickiness,
  StickinessQuery,
  StickinessUsersQuery,
} from "../schemas/activity.ts";
import type { Activity, ActivityQuery, CountedActiveUsers } from "../storage/analysis/activity-queries.ts";
import type { Store } from "../storage/store.ts";
import { bucketStarts, defaultFromMs, timeZoneOf } from "./buckets.ts";
import { filterAndRange } from "./filters.ts";
import { firstEventMs } from "./questions.ts";

/** Days of which the ratio of daily users is given: a week and a month. */
const ratioDays = [7, 30];

type Asked<Query> = { projectId: number; query: Query; tags: [string, string][] };

/** The periods of a request. Throws `query-invalid`. */
function periodsOf({ query, tags }: Omit<Asked<z.infer<typeof StickinessQuery>>, "projectId">) {
  const { by } = query;
  const timeZone = timeZoneOf(query.timeZone);
  const { filter, fromMs, toMs } = filterAndRange(query, tags, (toMs) => defaultFromMs(by, timeZone, toMs));
  const starts = bucketStarts(by, timeZone, fromMs, toMs);
  if (starts.length > limits.retentionPeriods)
    throw problem("query-invalid", {
      detail: `The range has more than ${limits.retentionPeriods} ${by}s. Use ${by === "month" ? "" : `"by=${by === "day" ? "week" : "month"}" or `}a shorter range.`,
    });
  return { by, timeZone, filter, range: { fromMs, toMs }, starts };
}

/** The activity that a request asks for, and what the response says of it. Throws `query-invalid`. */
export async function activityQueryOf(
  events: Store["events"],
  asked: Asked<z.infer<typeof StickinessQuery>>,
  first: "ever" | "range",
): Promise<{ activity: ActivityQuery; head: ReturnType<typeof headOf> }> {
  const { by, timeZone, filter, range, starts } = periodsOf(asked);
  const { projectId } = asked;
  const bounds = [range.fromMs, ...starts.slice(1), range.toMs];
  const historyFromMs = first === "ever" ? await firstEventMs(events, projectId) : null;
  return {
    activity: { projectId, per: asked.query.per, filter, bounds, historyFromMs },
    head: headOf({ by, timeZone, range, starts }),
  };
}

function headOf({ by, timeZone, range, starts }: Omit<ReturnType<typeof periodsOf>, "filter">) {
  return { by, timeZone, from: isoOf(range.fromMs), to: isoOf(range.toMs), starts: starts.map(isoOf) };
}

/** On how many periods users were active. */
export function stickinessOf(
  { users, periods, byCount, last }: Activity,
  by: Stickiness["by"],
): Pick<Stickiness, "users" | "active" | "average" | "stickiness" | "distribution" | "ratios"> {
  const active = periods.map((each) => each.active);
  const average = meanOf(active);
  return {
    users,
    active,
    average,
    stickiness: users === 0 ? null : average / users,
    distribution: byCount,
    ratios: ratioDays
      .filter((days) => by === "day" && days <= active.length)
      .map((days) => {
        const own = last[days - 1]!;
        const daily = meanOf(active.slice(-days));
        return { days, users: own, average: daily, ratio: own === 0 ? null : daily / own };
      }),
  };
}

/** New and returning users of each period. */
export function lifecycleOf({ users, periods }: Activity): Pick<Lifecycle, "users" | "new" | "returning"> {
  return {
    users,
    new: periods.map((each) => each.new),
    returning: periods.map((each) => each.active - each.new),
  };
}

/** Which users a request about stickiness lists. Throws `query-invalid`. */
export function stickyUsersOf(
  { periods, last, period }: z.infer<typeof StickinessUsersQuery>,
  { bounds }: ActivityQuery,
): CountedActiveUsers["which"] {
  const length = bounds.length - 1;
  if ([periods, last, period].filter((each) => each !== undefined).length > 1)
    throw problem("query-invalid", { detail: 'Send only one of "periods", "last" and "period".' });
  if (period !== undefined) return { period: inRange("period", period, length - 1) };
  if (periods !== undefined) return { count: inRange("periods", periods, length) };
  return { last: inRange("last", last ?? length, length) };
}

/** Which users a request about new and returning users lists. Throws `query-invalid`. */
export function lifecycleUsersOf(
  { period, users }: z.infer<typeof LifecycleUsersQuery>,
  { bounds }: ActivityQuery,
): CountedActiveUsers["which"] {
  return {
    period: inRange("period", period, bounds.length - 2),
    ...(users !== "all" && { isNew: users === "new" }),
  };
}

function inRange(name: string, value: number, max: number): number {
  if (value <= max) return value;
  throw problem("query-invalid", { detail: `"${name}" must be at most ${max} in this range.` });
}

function meanOf(counts: readonly number[]): number {
  return counts.length === 0 ? 0 : counts.reduce((sum, count) => sum + count, 0) / counts.length;
}
