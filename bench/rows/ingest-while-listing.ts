import { runDrain, runSteadyPosts, steadyPostsPerSecond } from "../generators.ts";
import { count, type Line, median, milliseconds, type RowOptions, ratio } from "../table.ts";

const listings = 2;

/** The cost of ingest while complete listings stream: the same steady load, with and without them. */
export async function ingestWhileListing(options: RowOptions): Promise<Line[]> {
  const { seconds, warmupMs, rounds, quick, month, log } = options;
  const { server } = await month();
  const { ports, apiKey } = server;
  const durationMs = seconds * 1_000;
  // The listings start this long before the POSTs, and run for several times this long after the last one.
  const marginMs = quick ? 100 : 500;
  const post = () => runSteadyPosts(server, options);
  const alone: number[] = [];
  const meanwhile: number[] = [];
  const roundAlone: number[] = [];
  const roundMeanwhile: number[] = [];
  const listed: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const before = await post();
    alone.push(median(before.secondsP99Ms));
    roundAlone.push(before.answers.p99Ms);
    const draining = runDrain({
      ports,
      apiKey,
      readers: listings,
      durationMs: warmupMs + durationMs + 4 * marginMs,
    });
    const [{ answers, secondsP99Ms }, { events, seconds: drained }] = await Promise.all([
      Bun.sleep(marginMs).then(post),
      draining,
    ]);
    meanwhile.push(median(secondsP99Ms));
    roundMeanwhile.push(answers.p99Ms);
    listed.push(events / drained);
    log(
      `round ${round}, ingest: p99 ${milliseconds(alone.at(-1)!)} alone, ${milliseconds(meanwhile.at(-1)!)} during listings`,
    );
  }
  return [
    {
      what: `ingest p99 while ${listings} complete listings stream, against without`,
      measured: ratio(
        meanwhile.map((p99, round) => p99 / alone[round]!),
        "x",
      ),
      bar: "2x",
      aim: "1.2x",
      figures: `${milliseconds(median(meanwhile))} to ${milliseconds(median(alone))} at ${count(steadyPostsPerSecond(quick))} POSTs/s, of whole rounds ${milliseconds(median(roundMeanwhile))} to ${milliseconds(median(roundAlone))}; the listings returned ${count(median(listed))} events/s meanwhile`,
    },
  ];
}
