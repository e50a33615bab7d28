import { type Comparison, compare, formatComparisons, type SetupOptions } from "./compare.ts";
import { describeMachine } from "./machine.ts";
import { loadMonth, type Month } from "./month.ts";
import { type Database, describePostgres } from "./postgres.ts";
import { acrossNodes } from "./rows/across-nodes.ts";
import { alerting } from "./rows/alerting.ts";
import { analysis } from "./rows/analysis.ts";
import { batches } from "./rows/batches.ts";
import { batchesOnPostgres } from "./rows/batches-on-postgres.ts";
import { hostileBodiesCost } from "./rows/hostile-bodies.ts";
import { importLines } from "./rows/import.ts";
import { ingestWhileExpiring } from "./rows/ingest-while-expiring.ts";
import { ingestWhileListing } from "./rows/ingest-while-listing.ts";
import { listing } from "./rows/listing.ts";
import { liveStreams } from "./rows/live-streams.ts";
import { memory } from "./rows/memory.ts";
import { neighbors } from "./rows/neighbors.ts";
import { notifying } from "./rows/notifying.ts";
import { growth, pages } from "./rows/pages.ts";
import { people } from "./rows/people.ts";
import { cohorts, paths } from "./rows/people-in-sql.ts";
import { postTails } from "./rows/post-tails.ts";
import { postsOnPostgres } from "./rows/posts-on-postgres.ts";
import { singlePosts } from "./rows/single-posts.ts";
import { stats } from "./rows/stats.ts";
import { website } from "./rows/website.ts";
import { startNodes, startTidings, startTidingsOnPostgres } from "./servers.ts";
import { type Benchmark, failed, failedLine, formatResults, type Line, type RowOptions } from "./table.ts";

export type BaseOptions = Omit<RowOptions, "month" | "tidings">;

type Measured = { results: string; failed: number; machine: string };

/** The rows of one run, and the page's section for its results. */
export type Table = {
  section: "sqlite" | "postgres";
  names: string[];
  measure: (selected: string[], options: BaseOptions) => Promise<Measured>;
};

/**
 * In the order of the table. Rows that read the month come before rows that add to it; the one that deletes it is last.
 */
const sqliteRows: Record<string, Benchmark> = {
  "single-posts": singlePosts,
  "post-tails": postTails,
  website,
  notifying,
  batches,
  import: importLines,
  growth,
  pages,
  stats,
  analysis,
  listing,
  "ingest-while-listing": ingestWhileListing,
  "live-streams": liveStreams,
  memory,
  "hostile-bodies": hostileBodiesCost,
  neighbors,
  alerting,
  people,
  cohorts,
  paths,
  "ingest-while-expiring": ingestWhileExpiring,
};

export const sqliteTable: Table = {
  section: "sqlite",
  names: Object.keys(sqliteRows),
  async measure(selected, base) {
    const month = memoize(() => loadMonth({ ...base, tidings: startTidings }));
    const lines = await measureAll(
      sqliteRows,
      selected,
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

const postgresRows: Record<string, (options: SetupOptions) => Promise<Comparison[]>> = {
  "single-posts": postsOnPostgres,
  notifying: compare(notifying, "0.8"),
  batches: batchesOnPostgres,
  growth: compare(growth),
  pages: compare(pages, "20 ms"),
  stats: compare(stats),
  analysis: compare(analysis, "–"),
  listing: compare(listing),
  "ingest-while-listing": compare(ingestWhileListing),
  "live-streams": compare(liveStreams),
  "across-nodes": acrossNodes,
  memory: compare(memory),
};

export const postgresTable: Table = {
  section: "postgres",
  names: Object.keys(postgresRows),
  async measure(selected, base) {
    const lines = await measureAll(postgresRows, selected, setupOptions(base), (name, error) => ({
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

function setupOptions(base: BaseOptions): SetupOptions {
  const [oneNode, twoNodes] = [1, 2].map((nodes) => () => startTidingsOnPostgres(nodes)) as [
    () => ReturnType<typeof startTidingsOnPostgres>,
    () => ReturnType<typeof startTidingsOnPostgres>,
  ];
  let database: Database;
  const monthOfOne = memoize(() =>
    loadMonth({
      ...base,
      async tidings() {
        const server = await oneNode();
        ({ database } = server);
        return server;
      },
    }),
  );
  // The same database, with other nodes.
  const monthOfTwo = memoize(
    async (): Promise<Month> => ({ ...(await monthOfOne()), server: await startNodes(2, database) }),
  );
  return {
    SQLite: {
      ...base,
      tidings: startTidings,
      month: memoize(() => loadMonth({ ...base, tidings: startTidings })),
    },
    "PostgreSQL, one node": { ...base, tidings: oneNode, month: monthOfOne },
    "PostgreSQL, two nodes": { ...base, tidings: twoNodes, month: monthOfTwo },
  };
}

/** Measures one row after the other. A failure is reported, and the others continue. */
async function measureAll<Options, OneLine extends Line | Comparison>(
  rows: Record<string, (options: Options) => Promise<OneLine[]>>,
  selected: string[],
  options: Options,
  failedLineOf: (name: string, error: unknown) => OneLine,
): Promise<OneLine[]> {
  const lines: OneLine[] = [];
  for (const [name, measure] of Object.entries(rows)) {
    if (!selected.includes(name)) continue;
    try {
      lines.push(...(await measure(options)));
    } catch (error) {
      console.error(`${name} failed: ${(error as Error).message}`);
      lines.push(failedLineOf(name, error));
    }
  }
  return lines;
}

function memoize<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => {
    result ??= make();
    return result;
  };
}
