import type { FailureLog } from "../failures.ts";
import { type Progress, progressNote, progressType, withProgress } from "../http/progress.ts";
import type { Routes } from "../http/routes.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { MeasureQuery } from "../storage/analysis/queries.ts";
import type { Counts } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";
import { Funnel, FunnelQuery } from "../wire/funnel.ts";
import { Retention, RetentionQuery } from "../wire/retention.ts";
import { Stats, StatsQuery } from "../wire/stats.ts";
import { bucketStarts, defaultFromMs, timeZoneOf } from "./buckets.ts";
import { filterAndRange, splitOf, withSearch } from "./filters.ts";
import { funnelOf } from "./funnel.ts";

const dayMs = 24 * 60 * 60 * 1_000;

type Deps = {
  store: Store;
  failures: FailureLog;
};

export function addStatsRoutes(routes: Routes, { store, failures }: Deps): void {
  const { events } = store;

  /** Computes something that can take longer than other requests. */
  function compute<Result extends object>(
    request: Request,
    run: (progress: Progress) => Promise<Result>,
  ): Promise<Result | Response> {
    return withProgress(request, run, (error) => failures.requestFailed(error));
  }

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
        throw problem("query-invalid", { detail: `"tag" is missing: the ${metric} of which tag?` });
      if (!isOfTag && tag !== undefined)
        throw problem("query-invalid", { detail: `"tag" is not used by "metric=${metric}".` });
      const starts = bucketStarts(by, timeZone, fromMs, toMs);
      const head = {
        ok: true as const,
        by,
        timeZone,
        metric,
        from: isoOf(fromMs),
        to: isoOf(toMs),
        starts: starts.map(isoOf),
      };
      const bounds = [fromMs, ...starts.slice(1), toMs];
      const split = query.split === undefined ? undefined : splitOf(query.split);
      const asked = { projectId, filter, bounds, split, series: query.limit };
      return compute(request, async (progress) => {
        const [measured, users] = await Promise.all([
          metric === "events" ? countEvents(asked) : measureEvents({ ...asked, metric, tag }, progress),
          query.users === "true" ? countUsers({ ...asked, bounds: [fromMs, toMs] }, progress) : null,
        ]);
        return { ...head, ...measured, ...(users !== null && { users }) };
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
      description: `Each step is a search, and a user takes them one after the other, by different events. Events of the same millisecond count in whichever order leads furthest. Events without a user are left out. ${progressNote}`,
      query: FunnelQuery,
      takesTags: true,
      response: Funnel,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const { filter, fromMs, toMs } = filterAndRange(query, tags, (toMs) => toMs - 30 * dayMs);
      const steps = query.step.map((step, index) => withSearch(filter, step, `Step ${index + 1}`));
      return compute(request, async (progress) => {
        const result = await events.funnel(
          {
            projectId,
            range: { fromMs, toMs },
            steps,
            windowMs: query.window * 1_000,
            split: query.split === undefined ? undefined : splitOf(query.split),
            series: query.limit,
          },
          progress,
        );
        return {
          ok: true as const,
          from: isoOf(fromMs),
          to: isoOf(toMs),
          windowSeconds: query.window,
          ...funnelOf(result, query.split !== undefined),
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
      description: `Users are grouped by the day or week of their first \`start\` event in the range. ${progressNote}`,
      query: RetentionQuery,
      takesTags: true,
      response: Retention,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
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
      const start = withSearch(filter, query.start ?? "", '"start"');
      const back = withSearch(filter, query.return ?? "", '"return"');
      return compute(request, async (progress) => {
        const bounds = [fromMs, ...starts.slice(1), toMs];
        const cohorts = await events.retention({ projectId, bounds, start, return: back }, progress);
        return {
          ok: true as const,
          by,
          timeZone,
          from: isoOf(fromMs),
          to: isoOf(toMs),
          starts: starts.map(isoOf),
          cohorts,
          users: sum(cohorts.map(({ users }) => users)),
        };
      });
    },
  );

  type Asked = Pick<MeasureQuery, "projectId" | "filter" | "bounds" | "split" | "series">;

  async function countEvents({ split, ...asked }: Asked) {
    const counts = await events.count({ ...asked, ...(split && { split }) });
    if (!counts) {
      throw problem("query-too-expensive", {
        detail: `"split" has more than ${limits.statsSplitValues.toLocaleString("en")} values in this range. Use a shorter range or more filters.`,
      });
    }
    return { series: seriesOf(counts, split !== undefined), total: sum(counts.all) };
  }

  async function measureEvents(query: MeasureQuery, progress: Progress) {
    const { all, series, rest, ignored } = await events.measure(query, progress);
    const shown = [
      ...series,
      ...(query.split ? (rest ? [{ value: null, ...rest }] : []) : [{ value: null, ...all }]),
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

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
