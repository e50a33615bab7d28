import type { LoadResult } from "../../load.ts";
import { processorMsOfTrees } from "../../processor.ts";
import { count, formatColumns, median, milliseconds, perSecond, spread } from "../../table.ts";
import { type Counterpart, describePrograms, listCounterparts } from "../counterparts.ts";
import { bodyOf, type Size, sizes } from "../events.ts";
import type { Row, RowOptions } from "../row.ts";

const connectionCounts = [1, 16, 128];
/** Bodies that are sent in turn. */
const bodiesMax = 500;

type Round = LoadResult & { serverCpuUs: number };

/** Single events, one after the other on each connection, to each counterpart. */
export function singles(size: Size): Row {
  return async (options) => {
    const counterparts = await listCounterparts();
    const rounds = new Map(counterparts.map(({ name }) => [name, [] as Round[][]]));
    const failures = new Map<string, string>();
    // Interleaved, so that a minute of slowness affects all.
    for (let round = 0; round < options.rounds; round++) {
      for (const counterpart of counterparts) {
        if (failures.has(counterpart.name)) continue;
        try {
          rounds.get(counterpart.name)!.push(await measure(counterpart, size, options));
        } catch (error) {
          const { message } = error as Error;
          options.log(`${counterpart.name}: ${message}`);
          failures.set(counterpart.name, message.slice(0, 200));
        }
      }
    }
    const rows = counterparts.map((counterpart) =>
      rowOf(counterpart, rounds.get(counterpart.name)!, failures.get(counterpart.name)),
    );
    return {
      table: formatColumns(columns, rows),
      failed: failures.size,
      sources: await describePrograms(),
    };
  };
}

const columns = [
  "durable events a second",
  ...connectionCounts.map((number) => `${number} ${number === 1 ? "connection" : "connections"}`),
  "processor time at 128: server, generator",
  "when acknowledged",
];

function rowOf({ name, protocol, acknowledges }: Counterpart, rounds: Round[][], failure?: string): string[] {
  if (failure || rounds.length === 0)
    return [`${name}; ${protocol}`, `failed: ${failure ?? ""}`, "", "", "", acknowledges];
  const cells = connectionCounts.map((_, index) => {
    const results = rounds.map((round) => round[index]!);
    const p99Ms = median(results.map((result) => result.p99Ms));
    return `${spread(
      results.map((result) => result.perSecond),
      perSecond,
    )}, p99 ${milliseconds(p99Ms)}`;
  });
  const last = rounds.map((round) => round.at(-1)!);
  const microseconds = (values: number[]) => `${median(values).toFixed(0)} µs`;
  const server = microseconds(last.map(({ serverCpuUs }) => serverCpuUs));
  const generator = microseconds(last.map(({ generatorCpuUs }) => generatorCpuUs));
  return [`${name}; ${protocol}`, ...cells, `${server}, ${generator}`, acknowledges];
}

/** Loads a fresh server with each number of connections, and verifies that it holds exactly what it acknowledged. */
async function measure({ name, start }: Counterpart, size: Size, options: RowOptions): Promise<Round[]> {
  const { seconds, warmupMs, log } = options;
  const bodies = Array.from({ length: bodiesMax }, (_, number) => bodyOf(number, size));
  const server = await start();
  try {
    const results: Round[] = [];
    let acknowledged = 0;
    for (const connections of connectionCounts) {
      const before = processorMsOfTrees(server.pids);
      const result = await server.send({ connections, warmupMs, durationMs: seconds * 1_000, bodies });
      const serverCpuUs = ((processorMsOfTrees(server.pids) - before) * 1_000) / result.acknowledged;
      acknowledged += result.acknowledged;
      results.push({ ...result, serverCpuUs });
      log(
        `${name}, ${sizes[size]} bytes, ${connections} connections: ${perSecond(result.perSecond)}, p50 ${milliseconds(result.p50Ms)}, server ${serverCpuUs.toFixed(0)} µs, generator ${result.generatorCpuUs.toFixed(0)} µs`,
      );
    }
    const stored = await server.countEvents();
    if (stored !== acknowledged)
      throw new Error(`${name} acknowledged ${count(acknowledged)} events and holds ${count(stored)}.`);
    return results;
  } finally {
    await server.stop();
  }
}
