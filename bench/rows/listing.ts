import { runDrain } from "../generators.ts";
import { peakBytesDuring, residentBytes } from "../memory.ts";
import { count, type Line, median, megabytes, perSecond, type RowOptions, spread } from "../table.ts";

/** The complete listing, streamed to one reader that discards it. */
export async function listing({ rounds, events, month, log }: RowOptions): Promise<Line[]> {
  const { server } = await month();
  const before = await residentBytes(server.pids);
  const rates: number[] = [];
  const byteRates: number[] = [];
  const peaks: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const { result, peakBytes } = await peakBytesDuring(server.pids, () =>
      runDrain({ ports: server.ports, apiKey: server.apiKey, readers: 1, durationMs: null }),
    );
    // Earlier rows may have added events.
    if (result.events < events)
      throw new Error(`Of ${events} events, ${result.events} were in the complete listing.`);
    rates.push(result.events / result.seconds);
    byteRates.push(result.bytes / result.seconds);
    peaks.push(peakBytes);
    log(`round ${round}, listing: ${perSecond(rates.at(-1)!)}, ${megabytes(byteRates.at(-1)!)}/s`);
  }
  return [
    {
      what: `the complete listing of ${count(events)} events, streamed`,
      measured: spread(rates, perSecond),
      bar: "250,000/s",
      aim: "500,000/s",
      figures: `${megabytes(median(byteRates))}/s; resident memory ${megabytes(before)} before, at most ${peaks.map((peak) => megabytes(peak)).join(", ")} in the rounds`,
    },
  ];
}
