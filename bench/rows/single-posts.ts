import { eventBodies, post } from "../events.ts";
import type { LoadJob, LoadResult } from "../load.ts";
import { root, run } from "../processes.ts";
import { type Server, startEcho, startHandWritten, startTidings } from "../servers.ts";
import { type Line, median, type RowOptions, ratio } from "../table.ts";

const connections = 128;
const servers = { echo: startEcho, tidings: startTidings, "hand-written": startHandWritten };
type Name = keyof typeof servers;

/** Single durable POSTs: one event, one request, one answer after its fsync. */
export async function singlePosts({ seconds, rounds, say }: RowOptions): Promise<Line[]> {
  const results: Record<Name, LoadResult[]> = { echo: [], tidings: [], "hand-written": [] };
  let verified = 0;
  // Interleaved, so that a machine that is slower for a minute is slower for all three.
  for (let round = 1; round <= rounds; round++) {
    for (const name of Object.keys(servers) as Name[]) {
      const server = await servers[name]();
      try {
        const result = await loadPosts(server, seconds * 1_000);
        results[name].push(result);
        say(`round ${round}, ${name}: ${describe(result)}`);
        const held = await server.countEvents();
        if (held !== null) {
          if (held !== result.acknowledged) {
            throw new Error(`${name} acknowledged ${result.acknowledged} events and holds ${held}.`);
          }
          if (name === "tidings") verified += held;
          say(`  ${name} holds exactly the ${held.toLocaleString("en")} events that it acknowledged`);
        }
      } finally {
        await server.stop();
      }
    }
  }

  const against = (other: Name) =>
    results.tidings.map((result, round) => result.perSecond / results[other][round]!.perSecond);
  const speed = (name: Name) => {
    const perSecond = median(results[name].map((result) => result.perSecond));
    return `${Math.round(perSecond).toLocaleString("en")}/s`;
  };
  const p99 = (name: Name) => `${median(results[name].map((result) => result.p99Ms)).toFixed(1)} ms`;
  const slowest = (name: Name) => `${Math.max(...results[name].map((result) => result.maxMs)).toFixed(0)} ms`;
  return [
    {
      what: `single durable POSTs, ${connections} connections, against a \`Bun.serve\` echo`,
      measured: ratio(against("echo"), ""),
      bar: "0.5",
      aim: "0.7",
      figures: `${speed("tidings")} (p99 ${p99("tidings")}, slowest ${slowest("tidings")}) to ${speed("echo")} (p99 ${p99("echo")}); database verified: exactly ${verified.toLocaleString("en")} acknowledged events`,
    },
    {
      what: "… against Fastify + better-sqlite3, a commit for each request",
      measured: ratio(against("hand-written"), "x"),
      bar: "12x",
      aim: "20x",
      figures: `${speed("tidings")} to ${speed("hand-written")} (p99 ${p99("hand-written")}, slowest ${slowest("hand-written")})`,
    },
  ];
}

async function loadPosts(server: Server, durationMs: number): Promise<LoadResult> {
  const job: LoadJob = {
    port: server.port,
    connections,
    warmupMs: 1_500,
    durationMs,
    expectedStatus: 201,
    requests: eventBodies.map((body) => post(body, server.apiKey)),
  };
  const printed = await run({
    command: [process.execPath, "bench/load.ts"],
    cwd: root,
    stdin: JSON.stringify(job),
  });
  return JSON.parse(printed) as LoadResult;
}

function describe({ perSecond, p50Ms, p99Ms, maxMs, generatorCpuUs }: LoadResult): string {
  return (
    `${Math.round(perSecond).toLocaleString("en")} requests/s, ` +
    `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, slowest ${maxMs.toFixed(0)} ms ` +
    `(the generator: ${generatorCpuUs.toFixed(1)} µs of processor time a request)`
  );
}
