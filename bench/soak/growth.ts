import { formatColumns, median } from "../table.ts";

/** One minute of a run. Counts and processor time are of this minute, memory and the rest are at its end. */
export type Sample = {
  run: number;
  /** Minutes since the run began. */
  minute: number;
  at: string;
  /** Events that the database holds, of all runs. */
  stored: number;
  acknowledged: number;
  memoryBytes: number;
  descriptors: number;
  diskBytes: number;
  backupBytes: number;
  processorMs: number;
  postP50Ms: number;
  postP99Ms: number;
  pageP50Ms: number;
  pageP99Ms: number;
  /** In milliseconds, to find out what is slow. */
  slowestPages?: Record<string, number>;
  loadAverage: number;
  /** Whether the servers were restarted at its end. */
  restarted?: boolean;
};

/** Caches fill and the engine compiles what is hot. */
const warmupMinutes = 10;
/** Below this, a slope says nothing. */
const judgedMinutesMin = 10;
/** What events may explain: memory and disk for each that the database holds more than before. */
const memoryBytesOfEvent = 20;
const diskBytesOfEvent = { sqlite: 450, postgres: 1_200 };
/** Changes within these bounds are noise: a collection of garbage, a checkpoint, a connection that is open or not. */
const memoryShare = 0.1;
const descriptorsMax = 8;
const diskBytesMax = 64_000_000;

/** The median of the slopes between all pairs of points (Theil-Sen): outliers hardly change it. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes = points.flatMap(([x, y], index) =>
    points.slice(index + 1).map(([otherX, otherY]) => (otherY - y) / (otherX - x)),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}

/** What grew in a run, and whether events explain it. */
export type Growth = { what: string; grows: boolean; line: string };

/** Judges memory, descriptors and disk of one run, after the warm-up and since the last restart. */
export function judgeGrowth(samples: readonly Sample[], engine: "sqlite" | "postgres"): Growth[] {
  const lastRestart = samples.findLastIndex(({ restarted }) => restarted);
  const since = samples[lastRestart + 1]?.minute ?? 0;
  const judged = samples.slice(lastRestart + 1).filter(({ minute }) => minute - since >= warmupMinutes);
  const [first, last] = [judged[0], judged.at(-1)];
  if (!first || !last || last.minute - first.minute < judgedMinutesMin)
    return [
      { what: "all", grows: false, line: "Too short to tell: a run needs 20 minutes after its start." },
    ];
  const minutes = last.minute - first.minute;
  const added = Math.max(0, last.stored - first.stored);
  const grownBy = (value: (sample: Sample) => number) =>
    slopeOf(judged.map((sample) => [sample.minute, value(sample)])) * minutes;
  const judge = (what: string, grown: number, allowed: number, format: (value: number) => string): Growth => {
    const hourly = format((grown / minutes) * 60);
    const grows = grown > allowed;
    const reason = `${format(grown)} in ${minutes} minutes, ${hourly} an hour`;
    return {
      what,
      grows,
      line: `${what}: ${grows ? "grows" : "steady"} (${reason}; up to ${format(allowed)} is explained)`,
    };
  };
  const memory = median(judged.map(({ memoryBytes }) => memoryBytes));
  const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`;
  const eventsOnDisk = added * diskBytesOfEvent[engine];
  return [
    judge(
      "memory",
      grownBy((sample) => sample.memoryBytes),
      memory * memoryShare + added * memoryBytesOfEvent,
      megabytes,
    ),
    judge(
      "descriptors",
      grownBy((sample) => sample.descriptors),
      descriptorsMax,
      (value) => value.toFixed(1),
    ),
    judge(
      "disk",
      grownBy((sample) => sample.diskBytes),
      eventsOnDisk + diskBytesMax,
      megabytes,
    ),
  ];
}

/** The samples as a table, a row for so many minutes: medians, and the slowest percentiles of its minutes. */
export function formatSamples(samples: readonly Sample[], rowMinutes: number): string {
  const rows = Map.groupBy(samples, ({ run, minute }) => `${run} ${Math.ceil(minute / rowMinutes)}`);
  const number = (value: number) => Math.round(value).toLocaleString("en");
  const mb = (bytes: number) => number(bytes / 1_000_000);
  const ms = (values: number[]) => {
    const known = values.filter(Number.isFinite);
    return known.length === 0 ? "–" : median(known).toFixed(1);
  };
  return formatColumns(
    [
      "minutes",
      "events stored",
      "a second",
      "of a core",
      "memory, MB",
      "descriptors",
      "disk, MB",
      "backups, MB",
      "POST p50, ms",
      "POST p99, ms",
      "page p50, ms",
      "page p99, ms",
      "load",
    ],
    [...rows.values()].map((row) => {
      const last = row.at(-1)!;
      const of = (value: (sample: Sample) => number) => row.map(value);
      const sum = (value: (sample: Sample) => number) => of(value).reduce((total, one) => total + one, 0);
      return [
        number(last.minute),
        number(last.stored),
        number(sum(({ acknowledged }) => acknowledged) / (row.length * 60)),
        `${((sum(({ processorMs }) => processorMs) / (row.length * 60_000)) * 100).toFixed(1)} %`,
        mb(median(of(({ memoryBytes }) => memoryBytes))),
        number(median(of(({ descriptors }) => descriptors))),
        mb(last.diskBytes),
        mb(last.backupBytes),
        ms(of(({ postP50Ms }) => postP50Ms)),
        ms(of(({ postP99Ms }) => postP99Ms)),
        ms(of(({ pageP50Ms }) => pageP50Ms)),
        ms(of(({ pageP99Ms }) => pageP99Ms)),
        median(of(({ loadAverage }) => loadAverage)).toFixed(1),
      ];
    }),
  );
}
