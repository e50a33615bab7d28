import type { DrainJob, DrainResult } from "./drain.ts";
import { get } from "./events.ts";
import type { LoadJob, LoadResult } from "./load.ts";
import type { NeighborJob, NeighborResult } from "./neighbor.ts";
import { run } from "./processes.ts";
import type { RawPostgresJob } from "./raw-postgres.ts";
import type { RawJob, RawResult } from "./raw-sqlite.ts";
import type { Server } from "./servers.ts";
import type { SteadyJob, SteadyResult } from "./steady.ts";

/** A closed loop of requests. */
export const runLoad = (job: LoadJob) => runScript<LoadResult>("bench/load.ts", job);

/** Complete listings, read and discarded. */
export const runDrain = (job: DrainJob) => runScript<DrainResult>("bench/drain.ts", job);

/** Events posted at a steady rate, and their arrival at live streams. */
export const runSteady = (job: SteadyJob) => runScript<SteadyResult>("bench/steady.ts", job);

/** The same at a rate far below the maximum, without live streams. */
export function runSteadyPosts(
  { ports, apiKey }: Pick<Server, "ports" | "apiKey">,
  { seconds, warmupMs, quick }: { seconds: number; warmupMs: number; quick: boolean },
): Promise<SteadyResult> {
  const perSecond = steadyPostsPerSecond(quick);
  const times = { warmupMs, durationMs: seconds * 1_000 };
  return runSteady({ ports, apiKey, perSecond, ...times, streams: 0, watchedStreams: 0 });
}

export const steadyPostsPerSecond = (quick: boolean): number => (quick ? 100 : 1_000);

/** The requests of a project beside a busy one. */
export const runNeighbor = (job: NeighborJob) => runScript<NeighborResult>("bench/neighbor.ts", job);

/** Rows inserted directly into SQLite or PostgreSQL. */
export const runRawSqlite = (job: RawJob) => runScript<RawResult>("bench/raw-sqlite.ts", job);
export const runRawPostgres = (job: RawPostgresJob) => runScript<RawResult>("bench/raw-postgres.ts", job);

/** A closed loop of reads, which requests the paths in turn. */
export function runReads(
  { ports, apiKey }: Server,
  paths: string[],
  times: { connections: number; warmupMs: number; durationMs: number },
): Promise<LoadResult> {
  return runLoad({ ports, ...times, expectedStatus: 200, requests: paths.map((path) => get(path, apiKey)) });
}

async function runScript<Result>(script: string, job: object): Promise<Result> {
  return JSON.parse(await run({ command: [process.execPath, script], stdin: JSON.stringify(job) })) as Result;
}
