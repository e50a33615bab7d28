import { eventBodies, post } from "../events.ts";
import { runLoad } from "../generators.ts";
import type { LoadJob, LoadResult } from "../load.ts";
import { processorSeconds } from "../processes.ts";
import { startTidings, type Tidings } from "../servers.ts";
import { type Line, median, milliseconds, perSecond, type RowOptions, ratio } from "../table.ts";
import { barredConnections } from "./single-posts.ts";

const userAgents = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0",
  "Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Mobile Safari/537.36",
];
const bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
/** One visitor in this many is a bot. */
const botEvery = 10;
const referrers = ["https://www.google.com/", "https://news.ycombinator.com/item?id=1", ""];
/** Each request is another event, and each visitor has so many. */
const idMark = "c0c0c0c0c0c0";
const addressMark = "f0f0:f0f0:f0f0";
const viewsOfVisitor = 4;
const differentRequests = 500;

type Round = { load: LoadResult; cpuUs: number | null };

/** Page views as the script of web pages sends them, with visits and bots, against single durable POSTs. */
export async function website({ rounds, seconds, warmupMs, log }: RowOptions): Promise<Line[]> {
  const results: Record<"views" | "posts", Round[]> = { views: [], posts: [] };
  const times = { connections: barredConnections, warmupMs, durationMs: seconds * 1_000 };
  for (let round = 1; round <= rounds; round++) {
    results.views.push(
      await measure(async (server) => ({
        ...times,
        ports: server.ports,
        expectedStatus: 204,
        requests: pageViews(await publishableKey(server)),
        numbered: [
          { text: idMark, every: 1 },
          { text: addressMark, every: viewsOfVisitor },
        ],
      })),
    );
    results.posts.push(
      await measure(async ({ ports, apiKey }) => ({
        ...times,
        ports,
        expectedStatus: 201,
        requests: eventBodies.map((body) => post(body, apiKey)),
      })),
    );
    for (const name of ["views", "posts"] as const)
      log(`round ${round}, ${name}: ${describe(results[name])}`);
  }
  return [
    {
      what: `page views of websites, ${barredConnections} connections, against single durable POSTs`,
      measured: ratio(
        results.views.map(({ load }, round) => load.perSecond / results.posts[round]!.load.perSecond),
        "",
      ),
      figures: `${describe(results.views)} to ${describe(results.posts)}; one visitor in ${botEvery} is a bot, and each views ${viewsOfVisitor} pages`,
    },
  ];
}

/** Loads a fresh server, and verifies that it holds exactly the events that it acknowledged. */
async function measure(jobOf: (server: Tidings) => Promise<LoadJob>): Promise<Round> {
  const server = await startTidings({ TRUSTED_PROXIES: "127.0.0.1/32" });
  try {
    const job = await jobOf(server);
    const [pid] = server.pids as [number];
    const before = await processorSeconds(pid);
    const load = await runLoad(job);
    const after = await processorSeconds(pid);
    const stored = await server.countEvents();
    if (stored !== load.acknowledged)
      throw new Error(`${load.acknowledged} events were acknowledged, and the server holds ${stored}.`);
    const cpuUs =
      before === null || after === null ? null : ((after - before) * 1_000_000) / load.acknowledged;
    return { load, cpuUs };
  } finally {
    await server.stop();
  }
}

function describe(rounds: Round[]): string {
  const rate = perSecond(median(rounds.map(({ load }) => load.perSecond)));
  const p99 = milliseconds(median(rounds.map(({ load }) => load.p99Ms)));
  const times = rounds.flatMap(({ cpuUs }) => cpuUs ?? []);
  return `${rate} (p99 ${p99}${times.length > 0 ? `, ${median(times).toFixed(0)} µs of processor time each` : ""})`;
}

async function publishableKey(server: Tidings): Promise<string> {
  const kind = ["--publishable", "--rate", "100000"];
  const key = await server.command(
    ["key", "create", "--project", "default", "--name", "Website", ...kind],
    "",
  );
  return key.trim();
}

function pageViews(key: string): string[] {
  const start = Date.now().toString(16).padStart(12, "0");
  return Array.from({ length: differentRequests }, (_, number) => {
    const visitor = Math.floor(number / viewsOfVisitor);
    const referrer = referrers[visitor % referrers.length]!;
    const body = JSON.stringify({
      key,
      language: "de-DE",
      timeZone: "Europe/Berlin",
      touch: visitor % 4 === 1,
      events: [
        {
          id: `${start.slice(0, 8)}-${start.slice(8)}-7000-8000-${idMark}`,
          name: "Page view",
          url: `https://www.example.com/articles/${number % 100}${number % 7 === 0 ? "?utm_source=news" : ""}`,
          age: 100,
          ...(referrer && { referrer }),
        },
      ],
    });
    return [
      "POST /t HTTP/1.1",
      "host: 127.0.0.1",
      "content-type: text/plain;charset=UTF-8",
      "origin: https://www.example.com",
      `user-agent: ${visitor % botEvery === 0 ? bot : userAgents[visitor % userAgents.length]!}`,
      `x-forwarded-for: 2001:db8:0:0:0:${addressMark}`,
      `content-length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n");
  });
}
