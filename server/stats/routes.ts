import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { FailureLog } from "../http/failures.ts";
import { type Progress, progressNote, progressType } from "../http/progress.ts";
import type { Routes } from "../http/routes.ts";
import { Funnel, FunnelQuery } from "../schemas/funnel.ts";
import { Retention, RetentionQuery } from "../schemas/retention.ts";
import { Stats, StatsQuery } from "../schemas/stats.ts";
import type { MeasureQuery } from "../storage/analysis/queries.ts";
import type { Counts } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";
import { bucketStarts, defaultFromMs, timeZoneOf } from "./buckets.ts";
import { computing, timesOf } from "./computing.ts";
import { analysisSplitOf, filterAndRange, isOfEvents } from "./filters.ts";
import { funnelOf } from "./funnel.ts";
import { withGroupNames } from "./group-names.ts";
import { funnelQueryOf, retentionQueryOf, retentionQuestionOf } from "./questions.ts";

type Deps = {
  store: Store;
  failures: FailureLog;
};

export function addStatsRoutes(routes: Routes, { store, failures }: Deps): void {
  const { events } = store;
  const compute = computing(failures);

  routes.add(
    {
      method: "get",
      path: "/api/stats",
      operationId: "getStats",
      by: "events:read",
      tag: "Stats",
      summary: "Count events over time",
      description: `Counts events or different users, or adds up a tag's numbers, in each bucket of time. ${progressNote}`,
      query: StatsQuery,
      takesTags: true,
      response: Stats,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const { by, metric, tag } = query;
      const timeZone = timeZoneOf(query.timeZone);
      const { filter, fromMs, toMs } = filterAndRange(query, tags, (toMs) =>
        defaultFromMs(by, timeZone, toMs),
      );
      const isOfTag = metric !== "events" && metric !== "users";
      if (isOfTag && tag === undefined)
        throw problem("query-invalid", {
          detail: `"tag" is missing. Send the key of the tag whose ${metric} you want.`,
        });
      if (!isOfTag && tag !== undefined)
        throw problem("query-invalid", { detail: `"tag" is not used by "metric=${metric}".` });
      if (query.per !== undefined && metric !== "users")
        throw problem("query-invalid", {
          detail: '"per" needs "metric=users": it counts groups in their place.',
        });
      const starts = bucketStarts(by, timeZone, fromMs, toMs);
      const head = {
        by,
        timeZone,
        metric,
        from: isoOf(fromMs),
        to: isoOf(toMs),
        starts: starts.map(isoOf),
      };
      const bounds = [fromMs, ...starts.slice(1), toMs];
      const split = analysisSplitOf(query.split, query.per);
      const asked = { projectId, filter, bounds, split, series: query.limit };
      return compute(request, async (progress) => {
        const [measured, users] = await Promise.all([
          metric === "events"
            ? countEvents(asked, progress)
            : measureEvents({ ...asked, metric, tag, per: query.per }, progress),
          query.users === "true" ? countUsers({ ...asked, bounds: [fromMs, toMs] }, progress) : null,
        ]);
        const series = await withGroupNames(store.control, projectId, split, measured.series);
        return { ...head, ...measured, series, ...(users !== null && { users }) };
      });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/funnel",
      by: "events:read",
      tag: "Stats",
      summary: "Count users who take steps in order",
      description: `Each step is a search, and a user takes them one after the other, by different events. Events of the same millisecond count in the order in which the user gets furthest. Events without a user are left out. ${progressNote}`,
      query: FunnelQuery,
      takesTags: true,
      response: Funnel,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const asked = funnelQueryOf({ projectId, query, tags });
      return compute(request, async (progress) => {
        const result = await events.funnel({ ...asked, series: query.limit }, progress);
        const { steps, series } = funnelOf(result, query.split !== undefined);
        return {
          ...timesOf(asked.range),
          windowSeconds: query.window,
          steps,
          ...(series && { series: await withGroupNames(store.control, projectId, asked.split, series) }),
        };
      });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/retention",
      by: "events:read",
      tag: "Stats",
      summary: "Count users who come back",
      description: `Users are grouped by the day or week of their first \`start\` event. ${progressNote}`,
      query: RetentionQuery,
      takesTags: true,
      response: Retention,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const question = retentionQuestionOf({ query, tags });
      const { by, timeZone, range, starts } = question;
      const { first } = query;
      return compute(request, async (progress) => {
        const cohorts = await events.retention(
          await retentionQueryOf(events, { projectId, first, ...question }),
          progress,
        );
        return {
          by,
          first,
          timeZone,
          ...timesOf(range),
          starts: starts.map(isoOf),
          cohorts,
          users: sum(cohorts.map(({ users }) => users)),
        };
      });
    },
  );

  type Asked = Pick<MeasureQuery, "projectId" | "filter" | "bounds" | "split" | "series">;

  async function countEvents({ split, ...asked }: Asked, progress: Progress) {
    if (!isOfEvents(split)) return countByUsers({ ...asked, split }, progress);
    const counts = await events.count({ ...asked, ...(split && { split }) });
    if (!counts) {
      throw problem("query-too-expensive", {
        detail: `"split" has more than ${limits.statsSplitValues.toLocaleString("en")} values in this range. Use a shorter range or more filters.`,
      });
    }
    return { series: seriesOf(counts, split !== undefined), total: sum(counts.all) };
  }

  /** Counters know no users and no groups, so these events are read. */
  async function countByUsers(asked: Asked, progress: Progress) {
    const { all, series, rest } = await events.measure({ ...asked, metric: "events" }, progress);
    const shown = rest ? [...series, { ...rest, value: null }] : series;
    return {
      series: shown.map(({ value, counts }) => ({ value, total: sum(counts), counts })),
      total: sum(all.counts),
    };
  }

  async function measureEvents(query: MeasureQuery, progress: Progress) {
    const { all, series, rest, ignored } = await events.measure(query, progress);
    const shown = [
      ...series,
      ...(query.split ? (rest ? [{ ...rest, value: null }] : []) : [{ value: null, ...all }]),
    ];
    return {
      series: shown.map((each) => ({ ...each, total: sum(each.counts) })),
      total: sum(all.counts),
      values: all.values,
      overall: all.overall,
      ...(query.tag !== undefined && { ignored }),
    };
  }

  async function countUsers({ split: _, ...asked }: Asked, progress: Progress): Promise<number> {
    const { all } = await events.measure({ ...asked, metric: "users" }, progress);
    return all.overall!;
  }
}

/** The split's series, largest first, and then the rest. */
function seriesOf({ all, series }: Counts, isSplit: boolean) {
  const rest = all.map((count, bucket) => series.reduce((left, { counts }) => left - counts[bucket]!, count));
  const restTotal = sum(rest);
  return [
    ...series.map(({ value, counts }) => ({ value, total: sum(counts), counts })),
    ...(!isSplit || restTotal > 0 ? [{ value: null, total: restTotal, counts: rest }] : []),
  ];
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
