import { type Comparison, type SetupOptions, setups } from "../compare.ts";
import { runRawPostgres } from "../generators.ts";
import { copyDatabase } from "../postgres.ts";
import { count, median, milliseconds, perSecond, type RowOptions, ratio } from "../table.ts";
import { barredSize, connections, differentEvents, measureBatches, sizes } from "./batches.ts";

/** Batches of events on each setup, against the same rows and indexes inserted directly, a thousand per statement. */
export async function batchesOnPostgres(options: SetupOptions): Promise<Comparison[]> {
  const { rounds, quick, log } = options[setups[0]];
  const lines: Comparison[] = [];
  for (const size of quick ? sizes.slice(0, 2) : sizes) {
    const isBarred = size === barredSize;
    const rates: number[][] = setups.map(() => []);
    const p99s: number[][] = setups.map(() => []);
    const raw: number[] = [];
    for (let round = 1; round <= (isBarred ? rounds : 1); round++) {
      if (isBarred) raw.push(await measureRaw(options[setups[0]]));
      for (const [index, name] of setups.entries()) {
        const result = await measureBatches(options[name].tidings, size, options[name]);
        rates[index]!.push(result.perSecond);
        p99s[index]!.push(result.p99Ms);
        log(`batches of ${count(size)}, ${name}: ${perSecond(result.perSecond)}`);
      }
    }
    const speeds = setups.map(
      (_, index) => `${perSecond(median(rates[index]!))} (p99 ${milliseconds(median(p99s[index]!))})`,
    );
    if (isBarred) {
      lines.push({
        what: `batches of ${count(size)}, events/s, against raw \`INSERT … SELECT FROM unnest\` of the same rows and indexes`,
        bar: "0.6",
        cells: rates.map((setupRates) =>
          ratio(
            setupRates.map((rate, round) => rate / raw[round]!),
            "",
          ),
        ),
        figures: `${speeds.join("; ")}; on ${connections} connections, to ${perSecond(median(raw))}`,
      });
    } else lines.push({ what: `batches of ${count(size)}, events/s`, cells: speeds });
  }
  return lines;
}

async function measureRaw({ seconds, warmupMs, quick, log }: RowOptions): Promise<number> {
  const database = await copyDatabase(null);
  try {
    const result = await runRawPostgres({
      url: database.url,
      events: quick ? 100 : differentEvents,
      batch: quick ? 100 : barredSize,
      warmupMs,
      durationMs: seconds * 1_000,
    });
    log(`raw unnest: ${perSecond(result.perSecond)}`);
    return result.perSecond;
  } finally {
    await database.drop();
  }
}
