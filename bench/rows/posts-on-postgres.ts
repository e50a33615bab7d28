import { type Comparison, type Setup, type SetupOptions, setups } from "../compare.ts";
import type { LoadResult } from "../load.ts";
import { startHandWrittenPostgres } from "../servers.ts";
import { median, milliseconds, perSecond, ratio } from "../table.ts";
import { barredConnections, measurePosts, otherConnections } from "./single-posts.ts";

const handWritten = "hand-written";
type Name = Setup | typeof handWritten;

/** Single durable POSTs on each setup, against a server that commits each separately to the same PostgreSQL. */
export async function postsOnPostgres(options: SetupOptions): Promise<Comparison[]> {
  const { rounds, quick } = options[setups[0]];
  const start = (name: Name) =>
    name === handWritten ? startHandWrittenPostgres : options[name as Setup].tidings;
  const measure = async (name: Name, connections: number) =>
    (await measurePosts(name, start(name), connections, options[setups[0]])).result;

  // A quick run must not need extra packages.
  const names: Name[] = quick ? [...setups] : [handWritten, ...setups];
  const results = new Map<Name, LoadResult[]>(names.map((name) => [name, []]));
  // Interleaved, so that a minute of slowness affects all.
  for (let round = 1; round <= rounds; round++) {
    for (const name of names) results.get(name)!.push(await measure(name, barredConnections));
  }
  const rates = (name: Name) => results.get(name)!.map((result) => result.perSecond);
  const speed = (name: Name) => {
    const p99Ms = median(results.get(name)!.map((result) => result.p99Ms));
    return `${perSecond(median(rates(name)))} (p99 ${milliseconds(p99Ms)})`;
  };

  const lines: Comparison[] = [];
  if (!quick) {
    lines.push({
      what: `single durable POSTs, ${barredConnections} connections, against Fastify + \`pg\`, a commit for each request`,
      bar: "2x",
      cells: setups.map((name) =>
        ratio(
          rates(name).map((rate, round) => rate / rates(handWritten)[round]!),
          "x",
        ),
      ),
      figures: `${setups.map(speed).join("; ")}; to ${speed(handWritten)}`,
    });
  }
  for (const connections of quick ? [1] : otherConnections) {
    const cells: string[] = [];
    for (const name of setups) {
      const { perSecond: rate, p50Ms, p99Ms } = await measure(name, connections);
      cells.push(`${perSecond(rate)} (p50 ${milliseconds(p50Ms)}, p99 ${milliseconds(p99Ms)})`);
    }
    lines.push({
      what: `single durable POSTs, ${connections} ${connections === 1 ? "connection" : "connections"}`,
      cells,
    });
  }
  return lines;
}
