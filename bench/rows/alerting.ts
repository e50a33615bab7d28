import { eventBodies, eventOf, post } from "../events.ts";
import { runLoad } from "../generators.ts";
import { peakBytesDuring, residentBytes } from "../memory.ts";
import type { Tidings } from "../servers.ts";
import { count, type Line, median, megabytes, perSecond, type RowOptions, ratio } from "../table.ts";
import {
  addHeartbeats,
  addMonitors,
  createProjects,
  downTimes,
  dueTimes,
  pingAll,
  type WatchedJob,
  type WatchedProject,
  watchReadings,
} from "../watched-projects.ts";
import { barredSize, connections as batchConnections } from "./batches.ts";
import { barredConnections } from "./single-posts.ts";

const monitorProjects = 20;
const heartbeatProjects = 200;
/** Of the heartbeats. */
const periodMinutes = 5;
/** Each job's first ping comes in this time, so those that aren't pinged again are down in as long, a period later. */
const firstPingsMs = 30_000;
/** The part of a period after which a job pings again, so that a ping that takes long isn't late. */
const pingAfter = 0.75;
/** How long after the last due time each event of a heartbeat must be there. */
const eventsWithinMs = 120_000;

/** Events per second. */
type Ingest = { singles: number; batches: number };
type Measured = { rounds: Ingest[]; idleBytes: number; peakBytes: number };
type Load = (options: Pick<RowOptions, "rounds">) => Promise<Measured>;
type Lateness = { heartbeatMs: number; medianMs: number; down: number; readingMs: number };

/** Ingest of a server with many monitors and heartbeats against one without; and while half of the heartbeats go down. */
export async function alerting(options: RowOptions): Promise<Line[]> {
  const before = await measureWithout(options);
  const { calm, storm, lateness, monitors, jobs } = await measureWith(options);
  const after = await measureWithout(options);
  const without = (kind: keyof Ingest) => (before.rounds[0]![kind] + after.rounds[0]![kind]) / 2;
  const ratioOf = ({ rounds }: Measured, kind: keyof Ingest) =>
    ratio(
      rounds.map((round) => round[kind] / without(kind)),
      "",
    );
  const figuresOf = ({ rounds }: Measured, kind: keyof Ingest) =>
    `${perSecond(median(rounds.map((round) => round[kind])))} to ${perSecond(without(kind))}`;
  const stormOf = (kind: keyof Ingest): Pick<Line, "measured" | "figures"> => ({
    measured: ratioOf(storm, kind),
    figures: figuresOf(storm, kind),
  });
  const what = `${count(monitors)} monitors and ${count(jobs)} heartbeats`;
  const toSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    {
      what: `single durable POSTs beside ${what}, against without`,
      measured: ratioOf(calm, "singles"),
      bar: "0.9",
      aim: "0.95",
      figures: `${figuresOf(calm, "singles")}; each monitor reads five minutes once a minute, and each heartbeat has a period of ${periodMinutes} minutes`,
    },
    {
      what: `… batches of ${count(barredSize)}, events/s`,
      measured: ratioOf(calm, "batches"),
      bar: "0.9",
      aim: "0.95",
      figures: figuresOf(calm, "batches"),
    },
    {
      what: `… single durable POSTs while ${count(lateness.down)} of the heartbeats go down within ${toSeconds(firstPingsMs)}`,
      ...stormOf("singles"),
    },
    { what: `… batches of ${count(barredSize)} meanwhile`, ...stormOf("batches") },
    {
      what: `resident memory with ${what}, at most`,
      measured: megabytes(Math.max(calm.peakBytes, storm.peakBytes)),
      figures: `${megabytes(before.peakBytes)} without; before the load ${megabytes(calm.idleBytes)} to ${megabytes(before.idleBytes)}`,
    },
    {
      what: "… the latest event of a heartbeat that is down, after its ping was due",
      measured: toSeconds(lateness.heartbeatMs),
      figures: `half of ${count(lateness.down)} within ${toSeconds(lateness.medianMs)}; the latest reading of a monitor was ${toSeconds(lateness.readingMs)} late`,
    },
  ];
}

async function measureWithout(options: RowOptions): Promise<Measured> {
  const server = await options.tidings();
  try {
    const [project] = await createProjects(server, "without", 1);
    const measured = await loadOf(server, project!, options)({ rounds: 1 });
    options.log(`without: ${describe(measured)}`);
    return measured;
  } finally {
    await server.stop();
  }
}

async function measureWith(options: RowOptions) {
  const { quick, log, tidings } = options;
  const part = quick ? 0.1 : 1;
  const minutes = quick ? 1 : periodMinutes;
  const periodMs = minutes * 60_000;
  const server = await tidings();
  const over = new AbortController();
  let background: Promise<unknown> = Promise.resolve();
  try {
    const startedAt = performance.now();
    const watched = await createProjects(server, "monitors", monitorProjects * part);
    const monitors = await addMonitors(watched);
    const jobs = await addHeartbeats(
      await createProjects(server, "heartbeats", heartbeatProjects * part),
      minutes,
    );
    log(`set up in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    const pinged = jobs.filter((_, index) => index % 2 === 0);
    const silent = jobs.filter((_, index) => index % 2 === 1);

    const firstDueMs = performance.now() + periodMs;
    await pingAll(jobs, firstPingsMs);
    const pings = pingAgain(pinged, pingAfter * periodMs, over.signal);
    const readings = watchReadings(watched, over.signal);
    background = Promise.allSettled([pings, readings]);
    const due = await dueTimes(silent);
    // One of the projects that are watched gets the load.
    const load = loadOf(server, watched[0]!, options);
    const calm = await load(options);
    log(`with: ${describe(calm)}`);
    await Bun.sleep(Math.max(0, firstDueMs - performance.now()));
    const storm = await load({ rounds: 1 });
    log(`while heartbeats go down: ${describe(storm)}`);
    const lateness = await latenessOf(silent, due);
    over.abort();
    await pings;
    return {
      calm,
      storm,
      lateness: { ...lateness, readingMs: await readings } satisfies Lateness,
      monitors,
      jobs: jobs.length,
    };
  } finally {
    over.abort();
    await background;
    await server.stop();
  }
}

async function pingAgain(jobs: WatchedJob[], everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await pingAll(jobs, everyMs, signal);
}

/** Throws if a job that wasn't pinged isn't down. */
async function latenessOf(
  jobs: WatchedJob[],
  due: Map<WatchedJob, number>,
): Promise<Omit<Lateness, "readingMs">> {
  const endMs = Math.max(...due.values()) + eventsWithinMs;
  for (;;) {
    const down = await downTimes(jobs);
    if (down.size === jobs.length) {
      const late = jobs.map((job) => down.get(job)! - due.get(job)!);
      return { heartbeatMs: Math.max(...late), medianMs: median(late), down: down.size };
    }
    if (Date.now() > endMs) throw new Error(`Of ${jobs.length} silent heartbeats, ${down.size} are down.`);
    await Bun.sleep(1_000);
  }
}

/** Posts to a project, single events and batches in turn, and verifies that it holds exactly what was acknowledged. */
function loadOf(
  { ports, pids }: Tidings,
  { origin, apiKey }: WatchedProject,
  { seconds, warmupMs, quick }: RowOptions,
): Load {
  const load = { ports, warmupMs, durationMs: seconds * 1_000, expectedStatus: 201 };
  const singles = eventBodies.map((body) => post(body, apiKey));
  const batches = Array.from({ length: quick ? 1 : 50 }, (_, number) => {
    const events = Array.from({ length: barredSize }, (_, index) => eventOf(number * barredSize + index));
    return post(JSON.stringify(events), apiKey);
  });
  let acknowledged = 0;
  return async ({ rounds }) => {
    const idleBytes = await residentBytes(pids);
    const { result, peakBytes } = await peakBytesDuring(pids, async () => {
      const measured: Ingest[] = [];
      for (let round = 1; round <= rounds; round++) {
        const one = await runLoad({
          ...load,
          connections: quick ? 4 : barredConnections,
          requests: singles,
        });
        const many = await runLoad({ ...load, connections: batchConnections, requests: batches });
        acknowledged += one.acknowledged + many.acknowledged * barredSize;
        measured.push({ singles: one.perSecond, batches: many.perSecond * barredSize });
      }
      return measured;
    });
    const response = await fetch(`${origin}/api/channels`, { headers: { "x-api-key": apiKey } });
    const { channels } = (await response.json()) as { channels: { events: number }[] };
    const stored = channels.reduce((sum, { events }) => sum + events, 0);
    if (stored !== acknowledged)
      throw new Error(
        `${count(acknowledged)} events were acknowledged, and the project holds ${count(stored)}.`,
      );
    return { rounds: result, idleBytes, peakBytes };
  };
}

function describe({ rounds, idleBytes, peakBytes }: Measured): string {
  const speeds = rounds.map(({ singles, batches }) => `${perSecond(singles)}, batches ${perSecond(batches)}`);
  return `${speeds.join("; ")}; ${megabytes(idleBytes)}, at most ${megabytes(peakBytes)}`;
}
