import { runNeighbor } from "../generators.ts";
import type { NeighborResult } from "../neighbor.ts";
import type { Tidings } from "../servers.ts";
import { signIn } from "../sign-in.ts";
import { type Line, milliseconds, type RowOptions } from "../table.ts";

/** Events of the busy project: each has a name of its own, so that a prefix stands for very many words. */
const eventsMax = 300_000;
const sliceEvents = 20_000;
const hourMs = 3_600_000;

type Busy = { origin: string; apiKey: string; boardToken: string; events: number; signal: AbortSignal };

/** What a project does within its limits, again and again, until the signal is aborted. */
type Occupation = { what: string; clients: number; work: (busy: Busy, client: number) => Promise<void> };

const prefixes = Array.from({ length: 99 }, (_, number) => `a${number}*`).join(" OR ");

const occupations: Occupation[] = [
  { what: "nothing", clients: 0, work: async () => {} },
  {
    what: "100 streams with a hundred prefixes, and arrays of up to 10,000 events",
    clients: 101,
    async work(busy, client) {
      if (client > 0) return drain(busy, `/api/events/stream?q=${encodeURIComponent(prefixes)}`);
      for (const events of [500, 2_000, 10_000])
        await send(
          busy,
          array(events, (number) => ({ name: `a${number} ${client}` })),
        );
    },
  },
  {
    what: "100 streams, each with a hundred prefixes of its own",
    clients: 101,
    async work(busy, client) {
      if (client === 0)
        return send(
          busy,
          array(10_000, (number) => ({ name: `a${number}` })),
        );
      return drain(busy, `/api/events/stream?q=${encodeURIComponent(`${prefixes} OR x${client}`)}`);
    },
  },
  { what: "counts of a prefix", clients: 20, work: (busy) => drain(busy, "/api/events/count?q=n1*") },
  {
    what: "searches that find nothing",
    clients: 20,
    work: (busy) => drain(busy, "/api/events?limit=10&q=zzz*%20OR%20tag.amount%3E2000000"),
  },
  { what: "complete listings", clients: 4, work: (busy) => drain(busy, "/api/events") },
  {
    what: "a public board",
    clients: 60,
    work: (busy, client) => {
      const { from, to } = rangeOf(client);
      return drain(busy, `/api/public/boards/${busy.boardToken}/tiles/users/data?from=${from}&to=${to}`, {});
    },
  },
  {
    what: "metrics of users",
    clients: 20,
    work: (busy) => drain(busy, `/api/stats?by=day&metric=users&split=tag.amount&from=${rangeOf(0).from}`),
  },
  {
    what: "arrays of 7 MB with 50 tags of their own each",
    clients: 2,
    work: (busy, client) => send(busy, differentTags(10_000, client)),
  },
  {
    what: "arrays of 16 MB of words of their own",
    clients: 2,
    work: (busy, client) => send(busy, differentWords(client)),
  },
  {
    what: "arrays of 4 MB with 50 tags each and an Idempotency-Key",
    clients: 2,
    work: (busy, client) =>
      send(busy, differentTags(5_500, client), { "idempotency-key": crypto.randomUUID() }),
  },
];

/** What one project does, and how long another one's requests take meanwhile. */
export async function neighbors(options: RowOptions): Promise<Line[]> {
  const { seconds, quick, log, cases, tidings } = options;
  const lines: Line[] = [];
  const server = await tidings();
  try {
    const busy = await prepare(server, quick ? 2_000 : Math.min(options.events, eventsMax));
    const neighborKey = await anotherProject(server);
    if (!quick) await server.settle();
    for (const { what, clients, work } of occupations) {
      if (!cases.some((text) => what.includes(text))) continue;
      const over = new AbortController();
      const ownBusy = { ...busy, signal: over.signal };
      const working = Array.from({ length: quick ? Math.min(clients, 2) : clients }, (_, client) =>
        repeat(() => work(ownBusy, client), over.signal),
      );
      if (!quick) await Bun.sleep(1_000);
      const durationMs = quick ? 100 : Math.max(seconds, 5) * 1_000;
      const result = await runNeighbor({ port: server.ports[0]!, apiKey: neighborKey, durationMs });
      over.abort();
      await Promise.all(working);
      lines.push(lineOf(what, result));
      log(`${what}: ${lines.at(-1)!.measured}; ${lines.at(-1)!.figures}`);
      if (result.failed > 0) throw new Error(`${what}: ${result.failed} requests of the neighbor failed.`);
    }
  } finally {
    await server.stop();
  }
  return lines;
}

function lineOf(what: string, { posts, pages, health }: NeighborResult): Line {
  return {
    what: `while another project does this: ${what}; p99 of a POST; of a page`,
    measured: `${milliseconds(posts.p99Ms)}; ${milliseconds(pages.p99Ms)}`,
    bar: "100 ms; 300 ms",
    aim: "30 ms; 100 ms",
    figures: `POST p50 ${milliseconds(posts.p50Ms)}, slowest ${milliseconds(posts.maxMs)}; page p50 ${milliseconds(pages.p50Ms)}, slowest ${milliseconds(pages.maxMs)}; /healthz p99 ${milliseconds(health.p99Ms)}`,
  };
}

async function repeat(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted)
    await work().catch(async (error) => {
      // The server may refuse some of it, which is the point.
      if (!signal.aborted) await Bun.sleep(error instanceof Refused ? 200 : 50);
    });
}

class Refused extends Error {}

async function drain(
  { origin, apiKey, signal }: Busy,
  path: string,
  headers: Record<string, string> = { "x-api-key": apiKey },
): Promise<void> {
  const response = await fetch(origin + path, { headers, signal });
  for await (const _ of response.body ?? []);
  if (!response.ok) throw new Refused();
}

async function send({ origin, apiKey, signal }: Busy, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${origin}/api/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": apiKey, ...headers },
    body,
    signal,
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Refused();
}

/** Fills the first project, and publishes a board with a tile that takes long. */
async function prepare({ ports, apiKey }: Tidings, events: number): Promise<Omit<Busy, "signal">> {
  const origin = `http://127.0.0.1:${ports[0]}`;
  const startMs = Date.now() - 24 * hourMs;
  for (let from = 0; from < events; from += sliceEvents) {
    const lines = Array.from({ length: Math.min(sliceEvents, events - from) }, (_, index) => {
      const number = from + index;
      return JSON.stringify({
        channel: `channel-${number % 20}`,
        name: `n${number}`,
        userId: `user_${(number * 7_919) % 100_000}`,
        tags: { amount: `${number % 1_000}`, plan: `p${number % 4}` },
        createdAt: startMs + Math.floor((number / events) * 23 * hourMs),
      });
    });
    const response = await fetch(`${origin}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", "x-api-key": apiKey },
      body: lines.join("\n"),
    });
    if (response.status !== 201) throw new Error(`The server answered ${response.status} to the events.`);
  }
  const call = await signedIn(origin);
  const tile = {
    id: "users",
    type: "line",
    title: "",
    x: 0,
    y: 0,
    w: 6,
    h: 4,
    q: "n1* OR n2*",
    metric: "users",
  };
  const { board } = await call<{ board: { id: string } }>("/api/boards", { name: "Public", tiles: [tile] });
  const { link } = await call<{ link: string }>(`/api/boards/${board.id}/link`, {});
  return { origin, apiKey, boardToken: link.split("/").at(-1)!, events };
}

/** Creates another project, and returns a key of it. */
async function anotherProject({ ports }: Tidings): Promise<string> {
  const call = await signedIn(`http://127.0.0.1:${ports[0]}`);
  const { project } = await call<{ project: { slug: string } }>("/api/projects", { name: "Neighbor" });
  const { secret } = await call<{ secret: string }>(`/api/keys?project=${project.slug}`, { name: "bench" });
  return secret;
}

type Call = <Body>(path: string, body: object) => Promise<Body>;

/** Posts as the installation's account. */
async function signedIn(origin: string): Promise<Call> {
  const headers = await signIn(origin, "bench@example.com", "password-for-bench");
  return async <Body>(path: string, body: object) => {
    const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Body;
  };
}

/** A day, which each client shifts by some seconds, so that it asks for a result of its own. */
function rangeOf(client: number): { from: number; to: number } {
  const to = Date.now() - client * 1_000;
  return { from: to - 25 * hourMs, to };
}

function array(events: number, eventOf: (number: number) => object): string {
  return JSON.stringify(Array.from({ length: events }, (_, n) => ({ channel: "live", ...eventOf(n) })));
}

let unique = 0;

function differentTags(events: number, client: number): string {
  return array(events, (number) => ({
    name: "tags",
    tags: Object.fromEntries(
      Array.from({ length: 50 }, () => [`k${(unique++).toString(36)}`, `v${client}${number % 10}`]),
    ),
  }));
}

function differentWords(client: number): string {
  return array(1_650, (number) => ({
    name: `words ${client} ${number}`,
    description: Array.from({ length: 1_100 }, () => `w${(unique++).toString(36).padStart(7, "0")}`).join(
      " ",
    ),
  }));
}
