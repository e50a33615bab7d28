import { runDrain, runSteadyPosts, steadyPostsPerSecond } from "../generators.ts";
import { count, type Line, median, milliseconds, type RowOptions, ratio } from "../table.ts";

const listings = 2;
/** A pause of the disk or of the machine falls into some rounds, on either side: more and shorter ones, so that their median is of the others. */
const moreRounds = 3;

/** What recording costs while complete listings stream: the same steady load, without them and beside them. */
export async function ingestWhileListing(options: RowOptions): Promise<Line[]> {
  const { warmupMs, quick, month, say } = options;
  const rounds = options.rounds * moreRounds;
  const seconds = options.seconds / 2;
  const { server } = await month();
  const { ports, apiKey } = server;
  const durationMs = seconds * 1_000;
  // The listings begin so long before the generator of posts is started, and go on for several times that after the last.
  const marginMs = quick ? 100 : 500;
  const post = () => runSteadyPosts(server, { ...options, seconds });
  const alone: number[] = [];
  const beside: number[] = [];
  const listed: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    alone.push((await post()).answers.p99Ms);
    const draining = runDrain({
      ports,
      apiKey,
      readers: listings,
      durationMs: warmupMs + durationMs + 4 * marginMs,
    });
    const [{ answers }, { events, seconds: drained }] = await Promise.all([
      Bun.sleep(marginMs).then(post),
      draining,
    ]);
    beside.push(answers.p99Ms);
    listed.push(events / drained);
    say(
      `round ${round}, ingest: p99 ${milliseconds(alone.at(-1)!)} alone, ${milliseconds(answers.p99Ms)} beside listings`,
    );
  }
  return [
    {
      what: `ingest p99 while ${listings} complete listings stream, against without`,
      measured: ratio(
        beside.map((p99, round) => p99 / alone[round]!),
        "x",
      ),
      bar: "2x",
      aim: "1.2x",
      figures: `${milliseconds(median(beside))} to ${milliseconds(median(alone))} at ${count(steadyPostsPerSecond(quick))} POSTs/s in ${rounds} rounds of ${seconds} s; the listings gave ${count(median(listed))} events/s meanwhile`,
    },
  ];
}
