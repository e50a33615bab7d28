import { eventBodies, post } from "../events.ts";
import { runLoad } from "../generators.ts";
import type { LoadResult } from "../load.ts";
import { type Server, startEcho, startHandWritten, startTidings } from "../servers.ts";
import { count, type Line, median, milliseconds, perSecond, type RowOptions, ratio } from "../table.ts";

export const barredConnections = 128;
export const otherConnections = [1, 32, 512];
const servers = { echo: startEcho, tidings: startTidings, "hand-written": startHandWritten };
type Name = keyof typeof servers;

/** Single durable POSTs: one event per request, with a response after its fsync. */
export async function singlePosts(options: RowOptions): Promise<Line[]> {
  const lines = await againstBoth(options);
  for (const connections of options.quick ? [1] : otherConnections) {
    lines.push(await againstEcho(connections, options));
  }
  return lines;
}

async function againstBoth(options: RowOptions): Promise<Line[]> {
  // A quick run must not need extra packages.
  const names = (Object.keys(servers) as Name[]).filter((name) => !options.quick || name !== "hand-written");
  const results: Record<Name, LoadResult[]> = { echo: [], tidings: [], "hand-written": [] };
  let verified = 0;
  // Interleaved, so that a minute of slowness affects all three.
  for (let round = 1; round <= options.rounds; round++) {
    for (const name of names) {
      const { result, stored } = await measurePosts(name, servers[name], barredConnections, options);
      results[name].push(result);
      if (name === "tidings") verified += stored ?? 0;
    }
  }

  const against = (other: Name) =>
    results.tidings.map((result, round) => result.perSecond / results[other][round]!.perSecond);
  const speed = (name: Name) => perSecond(median(results[name].map((result) => result.perSecond)));
  const p99 = (name: Name) => milliseconds(median(results[name].map((result) => result.p99Ms)));
  const slowest = (name: Name) => `${Math.max(...results[name].map((result) => result.maxMs)).toFixed(0)} ms`;
  const lines: Line[] = [
    {
      what: `single durable POSTs, ${barredConnections} connections, against a \`Bun.serve\` echo`,
      measured: ratio(against("echo"), ""),
      bar: "0.35",
      aim: "0.5",
      figures: `${speed("tidings")} (p99 ${p99("tidings")}, slowest ${slowest("tidings")}) to ${speed("echo")} (p99 ${p99("echo")}); database verified: exactly ${count(verified)} acknowledged events`,
    },
  ];
  if (names.includes("hand-written")) {
    lines.push({
      what: "… against Fastify + better-sqlite3, a commit for each request",
      measured: ratio(against("hand-written"), "x"),
      bar: "8x",
      aim: "12x",
      figures: `${speed("tidings")} to ${speed("hand-written")} (p99 ${p99("hand-written")}, slowest ${slowest("hand-written")})`,
    });
  }
  return lines;
}

/** One round with another number of connections. */
async function againstEcho(connections: number, options: RowOptions): Promise<Line> {
  const { result: echo } = await measurePosts("echo", startEcho, connections, options);
  const { result: tidings } = await measurePosts("tidings", startTidings, connections, options);
  return {
    what: `single durable POSTs, ${connections} ${connections === 1 ? "connection" : "connections"}, against the echo`,
    measured: ratio([tidings.perSecond / echo.perSecond], ""),
    figures: `${perSecond(tidings.perSecond)} (p50 ${milliseconds(tidings.p50Ms)}, p99 ${milliseconds(tidings.p99Ms)}) to ${perSecond(echo.perSecond)} (p99 ${milliseconds(echo.p99Ms)})`,
  };
}

/** Loads a fresh server and verifies that it holds exactly the events that it acknowledged. */
export async function measurePosts(
  name: string,
  start: () => Promise<Server>,
  connections: number,
  { seconds, warmupMs, log }: RowOptions,
): Promise<{ result: LoadResult; stored: number | null }> {
  const server = await start();
  try {
    const result = await runLoad({
      ports: server.ports,
      connections,
      warmupMs,
      durationMs: seconds * 1_000,
      expectedStatus: 201,
      requests: eventBodies.map((body) => post(body, server.apiKey)),
    });
    log(`${connections} connections, ${name}: ${describe(result)}`);
    const stored = await server.countEvents();
    if (stored !== null) {
      if (stored !== result.acknowledged) {
        throw new Error(`${name} acknowledged ${result.acknowledged} events and holds ${stored}.`);
      }
      log(`  ${name} holds exactly the ${count(stored)} acknowledged events`);
    }
    return { result, stored };
  } finally {
    await server.stop();
  }
}

function describe({ perSecond: rate, p50Ms, p99Ms, maxMs, generatorCpuUs }: LoadResult): string {
  return (
    `${count(rate)} requests/s, ` +
    `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, slowest ${maxMs.toFixed(0)} ms ` +
    `(the generator: ${generatorCpuUs.toFixed(1)} µs of processor time a request)`
  );
}
