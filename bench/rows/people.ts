import { userCount } from "../events.ts";
import { runReads } from "../generators.ts";
import type { Month } from "../month.ts";
import { count, type Line, milliseconds, type RowOptions } from "../table.ts";

/** Of the users, so many in a hundred are joined to another one. */
const joinedPercent = 30;
const batchMessages = 1_000;

const questions = [
  { what: "users by day", path: "/api/stats?metric=users&by=day" },
  {
    what: "a funnel of three steps",
    path: "/api/funnel?step=channel:channel-1&step=channel:channel-2&step=channel:channel-3&window=7d",
  },
  { what: "retention by week", path: "/api/retention?by=week" },
  { what: "a page of one user", path: "/api/events?limit=50&q=user:user_4711" },
];

/** The same questions before and after three in ten users are joined to another one. */
export async function people(options: RowOptions): Promise<Line[]> {
  const { events, quick, month, log } = options;
  const loaded = await month();
  const before = await measure(loaded, options);
  const joined = Math.floor((Math.min(userCount, quick ? 100 : userCount) * joinedPercent) / 100);
  const startMs = performance.now();
  await join(loaded, joined);
  const seconds = (performance.now() - startMs) / 1_000;
  const firstMs = await readFirst(loaded);
  const after = await measure(loaded, options);
  return questions.map(({ what }, index) => {
    const times = after[index]!.p50Ms / before[index]!.p50Ms;
    log(`people: ${what}: ${times.toFixed(2)} times`);
    return {
      what: `people: ${what} at ${count(events)} events with ${count(joined)} joined IDs, against before`,
      measured: `${times.toFixed(2)} times`,
      bar: "1.3 times",
      aim: "–",
      figures: `p50 ${milliseconds(after[index]!.p50Ms)}, before ${milliseconds(before[index]!.p50Ms)}; joining took ${seconds.toFixed(0)} s, the first question after it ${milliseconds(firstMs)}`,
    };
  });
}

/** How long the first question takes, for which the server reads who is joined to whom. */
async function readFirst({ server: { ports, apiKey }, startMs, endMs }: Month): Promise<number> {
  const fromMs = performance.now();
  const url = `http://127.0.0.1:${ports[0]}${questions[0]!.path}&from=${startMs}&to=${endMs}`;
  await (await fetch(url, { headers: { "x-api-key": apiKey } })).text();
  return performance.now() - fromMs;
}

async function measure(
  { server, startMs, endMs }: Month,
  { seconds, quick }: RowOptions,
): Promise<{ p50Ms: number }[]> {
  const measured: { p50Ms: number }[] = [];
  for (const { path } of questions)
    measured.push(
      await runReads(server, [`${path}&from=${startMs}&to=${endMs}`], {
        connections: 1,
        warmupMs: quick ? 10 : 300,
        durationMs: (seconds * 1_000) / 4,
      }),
    );
  return measured;
}

/** Joins users in pairs, as clients of another service would. */
async function join({ server: { ports, apiKey } }: Month, joined: number): Promise<void> {
  for (let start = 0; start < joined; start += batchMessages) {
    const batch = Array.from({ length: Math.min(batchMessages, joined - start) }, (_, index) => ({
      event: "$create_alias",
      distinct_id: `user_${start + index}`,
      properties: { alias: `user_${userCount - 1 - start - index}` },
    }));
    const response = await fetch(`http://127.0.0.1:${ports[0]}/batch/`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
      body: JSON.stringify({ batch }),
    });
    if (response.status !== 200)
      throw new Error(`POST /batch/ answered ${response.status}: ${await response.text()}`);
  }
  const response = await fetch(`http://127.0.0.1:${ports[0]}/api/users/user_${userCount - 1}`, {
    headers: { "x-api-key": apiKey },
  });
  const { user } = (await response.json()) as { user: { userId: string } };
  if (user.userId !== "user_0") throw new Error(`user_${userCount - 1} is joined to ${user.userId}.`);
}
