import { filterOf } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { Counts, Split, Store } from "../storage/store.ts";
import { Stats, StatsQuery } from "../wire/stats.ts";
import { bucketStarts, defaultFromMs, timeZoneOf } from "./buckets.ts";

export function addStatsRoutes(routes: Routes, { store }: { store: Store }): void {
  routes.add(
    {
      method: "get",
      path: "/api/stats",
      by: "events:read",
      tag: "Stats",
      summary: "Count events over time",
      query: StatsQuery,
      takesTags: true,
      response: Stats,
    },
    async ({ projectId, query, tags }) => {
      const { by } = query;
      const timeZone = timeZoneOf(query.timeZone);
      const {
        toMs = Date.now(),
        fromMs = defaultFromMs(by, timeZone, toMs),
        ...filter
      } = filterOf(query, tags);
      if (fromMs >= toMs) throw problem("query-invalid", { detail: '"from" must be before "to".' });
      const starts = bucketStarts(by, timeZone, fromMs, toMs);
      const counts = await store.events.count({
        projectId,
        filter,
        bounds: [fromMs, ...starts.slice(1), toMs],
        ...(query.split !== undefined && { split: splitOf(query.split) }),
        series: query.limit,
        users: query.users === "true",
      });
      if (!counts) {
        throw problem("query-invalid", {
          detail: `"${query.split}" has more than ${limits.statsSplitValues.toLocaleString("en")} values in this range. Use a shorter range or more filters.`,
        });
      }
      return {
        ok: true,
        by,
        timeZone,
        from: new Date(fromMs).toISOString(),
        to: new Date(toMs).toISOString(),
        starts: starts.map((ms) => new Date(ms).toISOString()),
        series: seriesOf(counts, query.split !== undefined),
        total: sum(counts.all),
        ...(counts.users !== null && { users: counts.users }),
      };
    },
  );
}

function splitOf(split: string): Split {
  return split === "channel" || split === "name"
    ? { by: split }
    : { by: "tag", key: split.slice("tag.".length) };
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
