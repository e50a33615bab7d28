/**
 * Answers the questions of `rows/people-in-sql.ts` with SQL, as often as it is asked: over plain tables of the same events,
 * of who is who, and of a property of people. The first line of standard input is the job, each further one names a
 * database and a query. Each answer is a line with the processor time of the query, of all processes, and its rows.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { addIndexes, loadEvents, runnersOf } from "./sql-tables.mjs";

const tickMs = 10;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const job = JSON.parse((await lines.next()).value);
const databases = await loadEvents(job);
for (const statement of [
  "CREATE TABLE people (id TEXT PRIMARY KEY, person TEXT)",
  "CREATE TABLE users (id TEXT PRIMARY KEY, plan TEXT)",
  ...insertsOf("people", job.people),
  ...insertsOf("users", job.users),
]) {
  databases.sqlite.exec(statement);
  await databases.duckdb.run(statement);
  await databases.postgres.query(statement);
}
await addIndexes(databases);
for (const statement of [
  `CREATE TABLE members AS ${job.members}`,
  "CREATE INDEX members_person ON members (person)",
  "ANALYZE",
]) {
  const quoted = statement.replaceAll(/\buser\b/g, '"user"');
  databases.sqlite.exec(statement);
  await databases.duckdb.run(quoted);
  await databases.postgres.query(quoted);
}
const runners = runnersOf(databases);
const [[backend]] = (await databases.postgres.query({ text: "SELECT pg_backend_pid()", rowMode: "array" }))
  .rows;
console.log("{}");

for (;;) {
  const next = await lines.next();
  if (next.done) break;
  const { database, query } = JSON.parse(next.value);
  const before = processorMs(database);
  const rows = await runners[database](query);
  const cpuMs = processorMs(database) - before;
  console.log(JSON.stringify({ cpuMs, rows: rows.map((row) => row.map(Number)) }));
}
process.exit(0);

function insertsOf(table, rows) {
  const statements = [];
  for (let start = 0; start < rows.length; start += 1_000)
    statements.push(
      `INSERT INTO ${table} VALUES ${rows
        .slice(start, start + 1_000)
        .map(([id, value]) => `('${id}', '${value}')`)
        .join(", ")}`,
    );
  return statements;
}

/** The processor time so far of this process, and of PostgreSQL's for this connection with the workers that have ended. */
function processorMs(database) {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1_000;
  if (database !== "postgres") return own;
  const [parent, ...times] = statOf(backend);
  const [, , , ...children] = statOf(parent);
  return own + tickMs * (times[0] + times[1] + children[0] + children[1]);
}

/** The parent of a process, and its times in ticks: user, system, and both of its children that have ended (proc(5)). */
function statOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").map(Number);
  return [fields[1], fields[11], fields[12], fields[13], fields[14]];
}
