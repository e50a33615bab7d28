import { eventBodies, post } from "../events.ts";
import { runLoad } from "../generators.ts";
import type { LoadResult } from "../load.ts";
import { openStream } from "../open-stream.ts";
import type { Tidings } from "../servers.ts";
import { type Line, median, milliseconds, perSecond, type RowOptions, ratio } from "../table.ts";

const connections = 16;
/** With the one that each project begins with, 50: the most that a project can have. */
const rules = 49;
const streams = 100;
/** Tiles of the board, which ask for their results once a second. */
const tiles = 4;

type Case = { what: string; bodies: string[]; isOpen: boolean; bar?: string; aim?: string };

const cases: Case[] = [
  {
    what: `single durable POSTs at ${connections} connections: p99 over p50`,
    bodies: eventBodies,
    isOpen: false,
    bar: "10",
    aim: "5",
  },
  {
    what: `… while ${rules + 1} rules, ${streams} streams and a board are open`,
    bodies: eventBodies,
    isOpen: true,
    bar: "20",
    aim: "10",
  },
  { what: "… with events of 100 bytes", bodies: bodiesOf(100), isOpen: false },
  { what: "… with events of 1,000 bytes", bodies: bodiesOf(1_000), isOpen: false },
];

/** How much longer the slowest hundredth of responses takes than half of them. */
export async function postTails(options: RowOptions): Promise<Line[]> {
  const results: LoadResult[][] = cases.map(() => []);
  // Interleaved, so that a minute of slowness affects all.
  for (let round = 1; round <= options.rounds; round++) {
    for (const [index, each] of cases.entries()) {
      const result = await measure(each, options);
      results[index]!.push(result);
      options.log(`round ${round}, ${each.what}: ${figuresOf([result])}`);
    }
  }
  return cases.map(({ what, bar, aim }, index) => ({
    what,
    measured: ratio(
      results[index]!.map(({ p50Ms, p99Ms }) => p99Ms / p50Ms),
      "x",
    ),
    ...(bar !== undefined && { bar, aim: aim! }),
    figures: figuresOf(results[index]!),
  }));
}

function figuresOf(results: LoadResult[]): string {
  const of = (key: "p50Ms" | "p99Ms" | "maxMs") => milliseconds(median(results.map((each) => each[key])));
  return `p50 ${of("p50Ms")}, p99 ${of("p99Ms")}, slowest ${of("maxMs")}; ${perSecond(median(results.map((each) => each.perSecond)))}`;
}

async function measure(
  { bodies, isOpen }: Case,
  { tidings, seconds, warmupMs, quick }: RowOptions,
): Promise<LoadResult> {
  const server = await tidings();
  const closing = new AbortController();
  try {
    if (isOpen) await openAll(server, quick ? 5 : streams, closing.signal);
    const result = await runLoad({
      ports: server.ports,
      connections: quick ? 4 : connections,
      warmupMs,
      durationMs: seconds * 1_000,
      expectedStatus: 201,
      requests: bodies.map((body) => post(body, server.apiKey)),
    });
    const stored = await server.countEvents();
    if (stored !== result.acknowledged)
      throw new Error(`The server acknowledged ${result.acknowledged} events and holds ${stored}.`);
    return result;
  } finally {
    closing.abort();
    await server.stop();
  }
}

/** Makes rules, of which one in ten counts one event in 40, opens streams of one user each, and reads a board. */
async function openAll(server: Tidings, streams: number, signal: AbortSignal): Promise<void> {
  const key = await server.command(
    ["key", "create", "--project", "default", "--name", "manage", "--scopes", "ingest,read,manage"],
    "",
  );
  const address = `http://127.0.0.1:${server.ports[0]}`;
  const headers = { "x-api-key": key.trim(), "content-type": "application/json" };
  const create = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(address + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 201)
      throw new Error(`POST ${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  for (let number = 0; number < rules; number++) {
    await create("/api/rules", {
      name: `Rule ${number}`,
      q: number % 10 === 0 ? `name:"Event name ${number % 40}"` : `country=FR plan=pro${number % 3}`,
      when: { type: "count", above: 100_000, minutes: 1 },
      to: { everyone: true, members: [], destinations: [] },
    });
  }
  const created = await create("/api/boards", {
    name: "Open",
    tiles: Array.from({ length: tiles }, (_, number) => ({
      id: `tile-${number}`,
      type: "number",
      title: `Tile ${number}`,
      x: number * 3,
      y: 0,
      w: 3,
      h: 2,
      q: `plan=pro${number % 3}`,
      metric: "events",
    })),
  });
  const { board } = created as { board: { id: string } };
  for (let number = 0; number < streams; number++) {
    const user = (number * 7_919) % 100_000;
    await openStream(`${address}/api/events/stream?userId=user_${user}`, headers, signal);
  }
  void readBoard(`${address}/api/boards/${board.id}/tiles`, headers, signal);
}

async function readBoard(tilesUrl: string, headers: Record<string, string>, signal: AbortSignal) {
  while (!signal.aborted) {
    const to = Date.now();
    const range = `from=${to - 86_400_000}&to=${to}&timeZone=UTC`;
    await Promise.all(
      Array.from({ length: tiles }, (_, number) =>
        fetch(`${tilesUrl}/tile-${number}/data?${range}`, { headers, signal })
          .then((response) => response.arrayBuffer())
          .catch(() => {}),
      ),
    );
    await Bun.sleep(1_000);
  }
}

/** Events whose JSON has about so many bytes. */
function bodiesOf(bytes: number): string[] {
  return Array.from({ length: 500 }, (_, number) => {
    const event = {
      channel: `channel-${number % 20}`,
      name: `Event name ${number % 40}`,
      userId: `user_${(number * 7_919) % 100_000}`,
    };
    const length = JSON.stringify(event).length;
    if (bytes <= length + 20) return JSON.stringify(event);
    const words = Array.from({ length: bytes }, (_, at) => `word${(number * 31 + at) % 5_000}`).join(" ");
    return JSON.stringify({ ...event, description: words.slice(0, bytes - length - 20) });
  });
}
