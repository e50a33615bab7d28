import { runReads } from "../generators.ts";
import { type Month, undatedEvery } from "../month.ts";
import { count, type Line, milliseconds, perSecond, type RowOptions } from "../table.ts";

/** Counts over a month, as for a chart. */
export async function stats({ seconds, events, quick, month, log }: RowOptions): Promise<Line[]> {
  const loaded = await month();
  const barred = {
    what: `stats: a month by channel at ${count(events)} events, p99`,
    query: "by=day&split=channel&timeZone=Europe/Berlin",
  };
  const further = [
    { what: "stats: a month by name", query: "by=day&split=name&timeZone=UTC" },
    { what: "stats: a month by the hour, not split", query: "by=hour&timeZone=UTC" },
    { what: "stats: a month by a tag", query: "by=day&split=tag.plan&timeZone=UTC" },
  ];
  const lines: Line[] = [];
  for (const { what, query } of [barred, ...further]) {
    const path = `/api/stats?${query}&from=${loaded.startMs}&to=${loaded.endMs}`;
    await checkTotal(loaded, path, events - Math.ceil(events / undatedEvery));
    const { p50Ms, p99Ms, counted, ...load } = await runReads(loaded.server, [path], {
      connections: 1,
      warmupMs: quick ? 10 : 300,
      durationMs: (seconds * 1_000) / 4,
    });
    const isBarred = query === barred.query;
    lines.push({
      what,
      measured: isBarred ? milliseconds(p99Ms) : `p50 ${milliseconds(p50Ms)}, p99 ${milliseconds(p99Ms)}`,
      ...(isBarred && { bar: "10 ms", aim: "–" }),
      figures: `${isBarred ? `p50 ${milliseconds(p50Ms)}; ` : ""}${count(counted)} requests, ${perSecond(load.perSecond)}, slowest ${milliseconds(load.maxMs)}`,
    });
    log(`${what}: p99 ${milliseconds(p99Ms)}`);
  }
  return lines;
}

/** Verifies that the counts are those of the month's events with a `createdAt`. */
async function checkTotal({ server }: Month, path: string, expected: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.ports[0]}${path}`, {
    headers: { "x-api-key": server.apiKey },
  });
  if (response.status !== 200)
    throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
  const { total } = (await response.json()) as { total: number };
  if (total !== expected) throw new Error(`GET ${path} counts ${total} events instead of ${expected}.`);
}
