import { channelCount } from "../events.ts";
import { runSteadyPosts, steadyPostsPerSecond } from "../generators.ts";
import type { Tidings } from "../servers.ts";
import { count, type Line, median, milliseconds, perSecond, type RowOptions } from "../table.ts";

/**
 * The cost of ingest while retention removes events and their blocks are rebuilt: the same steady load, before there is
 * anything to remove and meanwhile. It deletes most of the month.
 */
export async function ingestWhileExpiring(options: RowOptions): Promise<Line[]> {
  const { rounds, quick, month, log } = options;
  const { server } = await month();
  const post = () => runSteadyPosts(server, options);
  const alone: number[] = [];
  for (let round = 1; round <= rounds; round++) alone.push(median((await post()).secondsP99Ms));
  await setOneDayRetention(server);
  const meanwhile: number[] = [];
  const removed: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const startedAt = performance.now();
    const before = await server.countEvents();
    const { secondsP99Ms, posted } = await post();
    const removedEvents = before + posted - (await server.countEvents());
    if (removedEvents === 0) throw new Error("retention removed nothing meanwhile: load more events");
    removed.push((removedEvents / (performance.now() - startedAt)) * 1_000);
    meanwhile.push(median(secondsP99Ms));
    log(
      `round ${round}, ingest: p99 ${milliseconds(meanwhile.at(-1)!)} while ${perSecond(removed.at(-1)!)} are removed`,
    );
  }
  return [
    {
      what: "ingest p99 while retention removes events, against without",
      measured: `${(median(meanwhile) / median(alone)).toFixed(1)}x`,
      figures: `${milliseconds(median(meanwhile))} (${formatRounds(meanwhile)}) to ${milliseconds(median(alone))} (${formatRounds(alone)}) at ${count(steadyPostsPerSecond(quick))} POSTs/s; ${perSecond(median(removed))} were removed meanwhile`,
    },
  ];
}

function formatRounds(rounds: number[]): string {
  return rounds.map(milliseconds).join(", ");
}

async function setOneDayRetention({ ports, apiKey }: Tidings): Promise<void> {
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
