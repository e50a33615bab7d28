import { beside, type Comparison, formatComparisons, type SubjectOptions } from "./beside.ts";
import { describeMachine } from "./machine.ts";
import { loadMonth, type Month } from "./month.ts";
import { type Database, describePostgres } from "./postgres.ts";
import { acrossNodes } from "./rows/across-nodes.ts";
import { batches } from "./rows/batches.ts";
import { batchesOnPostgres } from "./rows/batches-on-postgres.ts";
import { growth } from "./rows/growth.ts";
import { hostileBodiesCost } from "./rows/hostile-bodies.ts";
import { ingestWhileExpiring } from "./rows/ingest-while-expiring.ts";
import { ingestWhileListing } from "./rows/ingest-while-listing.ts";
import { listing } from "./rows/listing.ts";
import { liveStreams } from "./rows/live-streams.ts";
import { memory } from "./rows/memory.ts";
import { notifying } from "./rows/notifying.ts";
import { pages } from "./rows/pages.ts";
import { postsOnPostgres } from "./rows/posts-on-postgres.ts";
import { singlePosts } from "./rows/single-posts.ts";
import { stats } from "./rows/stats.ts";
import { startNodes, startTidings, startTidingsOnPostgres } from "./servers.ts";
import { failed, failedLine, formatResults, type Line, type Row, type RowOptions } from "./table.ts";

export type BaseOptions = Omit<RowOptions, "month" | "tidings">;

type Measured = { results: string; failed: number; machine: string };

/** What one run measures, and where its results stand on the page. */
export type Table = {
  place: "sqlite" | "postgres";
  names: string[];
  measure: (wanted: string[], options: BaseOptions) => Promise<Measured>;
};

/** In the order of the table; those that read the month come before those that add to it, and the one that removes it is the last. */
const sqliteRows: Record<string, Row> = {
  "single-posts": singlePosts,
  notifying,
  batches,
  growth,
  pages,
  stats,
  listing,
  "ingest-while-listing": ingestWhileListing,
  "live-streams": liveStreams,
  memory,
  "hostile-bodies": hostileBodiesCost,
  "ingest-while-expiring": ingestWhileExpiring,
};

export const sqliteTable: Table = {
  place: "sqlite",
  names: Object.keys(sqliteRows),
  async measure(wanted, base) {
    const month = once(() => loadMonth({ ...base, tidings: startTidings }));
    const lines = await measureAll(
      sqliteRows,
      wanted,
      { ...base, month, tidings: startTidings },
      (name, error) => ({
        ...failedLine(name, error),
        bar: "",
        aim: "",
      }),
    );
    return {
      results: formatResults(lines),
      failed: lines.filter(({ measured }) => measured === failed).length,
      machine: await describeMachine(),
    };
  },
};

const postgresRows: Record<string, (options: SubjectOptions) => Promise<Comparison[]>> = {
  "single-posts": postsOnPostgres,
  notifying: beside(notifying, "0.8"),
  batches: batchesOnPostgres,
  growth: beside(growth),
  pages: beside(pages, "20 ms"),
  stats: beside(stats),
  listing: beside(listing),
  "ingest-while-listing": beside(ingestWhileListing),
  "live-streams": beside(liveStreams),
  "across-nodes": acrossNodes,
  memory: beside(memory),
};

export const postgresTable: Table = {
  place: "postgres",
  names: Object.keys(postgresRows),
  async measure(wanted, base) {
    const lines = await measureAll(postgresRows, wanted, subjectOptions(base), (name, error) => ({
      what: name,
      bar: "",
      cells: [failed, failed, failed],
      figures: failedLine(name, error).figures,
    }));
    return {
      results: formatComparisons(lines),
      failed: lines.filter(({ cells }) => cells.includes(failed)).length,
      machine: `${await describeMachine()}. ${await describePostgres()}`,
    };
  },
};

function subjectOptions(base: BaseOptions): SubjectOptions {
  const [oneNode, twoNodes] = [1, 2].map((nodes) => () => startTidingsOnPostgres(nodes)) as [
    () => ReturnType<typeof startTidingsOnPostgres>,
    () => ReturnType<typeof startTidingsOnPostgres>,
  ];
  let database: Database;
  const monthOfOne = once(() =>
    loadMonth({
      ...base,
      async tidings() {
        const server = await oneNode();
        ({ database } = server);
        return server;
      },
    }),
  );
  // The same database, with nodes of their own.
  const monthOfTwo = once(
    async (): Promise<Month> => ({ ...(await monthOfOne()), server: await startNodes(2, database) }),
  );
  return {
    SQLite: {
      ...base,
      tidings: startTidings,
      month: once(() => loadMonth({ ...base, tidings: startTidings })),
    },
    "PostgreSQL, one node": { ...base, tidings: oneNode, month: monthOfOne },
    "PostgreSQL, two nodes": { ...base, tidings: twoNodes, month: monthOfTwo },
  };
}

/** Measures one row after the other; one that fails is told, and the others go on. */
async function measureAll<Options, OneLine extends Line | Comparison>(
  rows: Record<string, (options: Options) => Promise<OneLine[]>>,
  wanted: string[],
  options: Options,
  failedLineOf: (name: string, error: unknown) => OneLine,
): Promise<OneLine[]> {
  const lines: OneLine[] = [];
  for (const [name, measure] of Object.entries(rows)) {
    if (!wanted.includes(name)) continue;
    try {
      lines.push(...(await measure(options)));
    } catch (error) {
      console.error(`${name} failed: ${(error as Error).message}`);
      lines.push(failedLineOf(name, error));
    }
  }
  return lines;
}

function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
