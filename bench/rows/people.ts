import { userCount } from "../events.ts";
import { runReads } from "../generators.ts";
import { joinUsers } from "../joined.ts";
import { loadMonth, type Month } from "../month.ts";
import { processorMs } from "../processor.ts";
import { count, type Line, median, milliseconds, type RowOptions, ratio } from "../table.ts";

type Question = {
  what: string;
  path: string;
  /** Of the server without joined IDs, if only another one has the same events. */
  plainPath?: string;
};

const user = 4_711;
const page = "/api/events?limit=50&q=user:";

const questions: Question[] = [
  { what: "users by day", path: "/api/stats?metric=users&by=day" },
  {
    what: "a funnel of three steps",
    path: "/api/funnel?step=channel:channel-1&step=channel:channel-2&step=channel:channel-3&window=7d",
  },
  { what: "retention by week", path: "/api/retention?by=week" },
  {
    what: "a page of one user",
    path: `${page}user_${user}`,
    plainPath: `${page}user_${user},user_${userCount - 1 - user}`,
  },
];

/**
 * The same questions of two servers with the same events: three in ten users are joined to another one on the first.
 * They are asked in turn, and the processor time of a question is compared.
 */
export async function people(options: RowOptions): Promise<Line[]> {
  const { events, rounds, month, log } = options;
  const plain = await loadMonth(options);
  try {
    const joined = await month();
    const { ids, seconds } = await joinUsers(joined, options);
    const firstMs = await readFirst(joined);
    const lines: Line[] = [];
    for (const { what, path, plainPath = path } of questions) {
      const [withIds, without]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        without.push(await measure(plain, plainPath, options));
        withIds.push(await measure(joined, path, options));
      }
      const times = ratio(
        withIds.map((ms, round) => ms / without[round]!),
        "",
      );
      log(`people: ${what}: ${times} times`);
      lines.push({
        what: `people: processor time of ${what} at ${count(events)} events with ${count(ids)} joined IDs, against without`,
        measured: `${times} times`,
        bar: "1.3 times",
        aim: "–",
        figures: `${milliseconds(median(withIds))} for each, without ${milliseconds(median(without))}; joining took ${seconds.toFixed(0)} s, the first question after it ${milliseconds(firstMs)}`,
      });
    }
    return lines;
  } finally {
    await plain.server.stop();
  }
}

/** How long the first question takes, for which the server reads who is joined to whom. */
async function readFirst({ server: { ports, apiKey }, startMs, endMs }: Month): Promise<number> {
  const fromMs = performance.now();
  const url = `http://127.0.0.1:${ports[0]}${questions[0]!.path}&from=${startMs}&to=${endMs}`;
  await (await fetch(url, { headers: { "x-api-key": apiKey } })).text();
  return performance.now() - fromMs;
}

/** The processor time of a request, in milliseconds. */
async function measure(
  { server, startMs, endMs }: Month,
  path: string,
  { seconds, quick }: RowOptions,
): Promise<number> {
  const paths = [`${path}&from=${startMs}&to=${endMs}`];
  const before = processorMs(server.pids);
  const { acknowledged } = await runReads(server, paths, {
    connections: 1,
    warmupMs: quick ? 10 : 300,
    durationMs: (seconds * 1_000) / 4,
  });
  return Math.max(processorMs(server.pids) - before, 1) / acknowledged;
}
