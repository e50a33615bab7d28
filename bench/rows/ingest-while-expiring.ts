import { channelCount } from "../events.ts";
import { runSteadyPosts, steadyPostsPerSecond } from "../generators.ts";
import type { Tidings } from "../servers.ts";
import { count, type Line, median, milliseconds, perSecond, type RowOptions } from "../table.ts";

/**
 * What recording costs while retention removes events, and the digests that they were in are made anew: the same steady load,
 * before there is anything to remove and meanwhile. It leaves little of the month behind.
 */
export async function ingestWhileExpiring(options: RowOptions): Promise<Line[]> {
  const { rounds, quick, month, say } = options;
  const { server } = await month();
  const post = () => runSteadyPosts(server, options);
  const alone: number[] = [];
  for (let round = 1; round <= rounds; round++) alone.push(median((await post()).secondsP99Ms));
  await keepForADay(server);
  const beside: number[] = [];
  const removed: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const startedAt = performance.now();
    const before = await server.countEvents();
    const { secondsP99Ms, posted } = await post();
    const gone = before + posted - (await server.countEvents());
    if (gone === 0) throw new Error("retention removed nothing meanwhile: load more events");
    removed.push((gone / (performance.now() - startedAt)) * 1_000);
    beside.push(median(secondsP99Ms));
    say(
      `round ${round}, ingest: p99 ${milliseconds(beside.at(-1)!)} beside ${perSecond(removed.at(-1)!)} removed`,
    );
  }
  return [
    {
      what: "ingest p99 while retention removes events, against without",
      measured: `${(median(beside) / median(alone)).toFixed(1)}x`,
      figures: `${milliseconds(median(beside))} (${list(beside)}) to ${milliseconds(median(alone))} (${list(alone)}) at ${count(steadyPostsPerSecond(quick))} POSTs/s; ${perSecond(median(removed))} were removed meanwhile`,
    },
  ];
}

function list(rounds: number[]): string {
  return rounds.map(milliseconds).join(", ");
}

async function keepForADay({ ports, apiKey }: Tidings): Promise<void> {
  for (let number = 0; number < channelCount; number++) {
    const answer = await fetch(`http://127.0.0.1:${ports[0]}/api/channels/channel-${number}`, {
      method: "PATCH",
      headers: { "content-type": "application/json", "x-api-key": apiKey },
      body: JSON.stringify({ retentionDays: 1 }),
    });
    if (!answer.ok)
      throw new Error(`PATCH /api/channels was answered ${answer.status}: ${await answer.text()}`);
  }
}
