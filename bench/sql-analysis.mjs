/**
 * Answers the questions of `rows/analysis.ts` with SQL over a plain table of the same events, in SQLite and DuckDB in
 * this process, and in a PostgreSQL. It prints the duration of each run, and the first column of the result.
 */
import { addIndexes, loadEvents, runnersOf } from "./sql-tables.mjs";

const job = JSON.parse(await new Response(process.stdin).text());
const databases = await loadEvents(job);
await addIndexes(databases);
const runners = runnersOf(databases);

const results = {};
for (const [name, query] of Object.entries(job.queries)) {
  results[name] = {};
  for (const [database, run] of Object.entries(runners))
    results[name][database] = await timed(() => run(query));
}
console.log(JSON.stringify(results));
process.exit(0);

async function timed(run) {
  const ms = [];
  let rows;
  const endsAt = performance.now() + job.durationMs;
  do {
    const startedAt = performance.now();
    rows = await run();
    ms.push(performance.now() - startedAt);
  } while (performance.now() < endsAt);
  return { ms, rows: rows.map((row) => row.map(Number)) };
}
