/**
 * A ClickHouse for tests and benchmarks: chDB, which is ClickHouse as a library, behind the part of ClickHouse's HTTP
 * interface that its official client uses (https://clickhouse.com/docs/interfaces/http). Statements run one after the
 * other.
 *
 *   node server/testing/clickhouse-server.mjs PORT DIRECTORY PACKAGES
 *
 * Prints a line when it answers, and ends with its standard input, so also when its parent is killed. PACKAGES is a
 * directory with chDB's `node_modules`.
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [port, directory, packages] = process.argv.slice(2);
const { Session } = createRequire(join(packages, "package.json"))("chdb");
const session = new Session(directory);
/** Parameters of the interface itself; all others are settings. */
const own = new Set(["query", "query_id", "database", "session_id", "role", "default_format"]);

/** The last request, so that each waits for the one before. */
let last = Promise.resolve();

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname === "/ping") return response.end("Ok.\n");
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    // The client has gone: its statement isn't whole.
    return response.destroy();
  }
  last = last.then(() => answer(url.searchParams, Buffer.concat(chunks).toString(), response));
});
process.stdin.on("end", () => process.exit()).resume();
// A client may wait as long as it likes between two requests.
server.keepAliveTimeout = 0;
server.listen(Number(port), "127.0.0.1", () => console.log("listening"));

async function answer(parameters, body, response) {
  const parameter = (name) => parameters.get(name) ?? "";
  response.setHeader("X-ClickHouse-Query-Id", parameter("query_id"));
  try {
    const settings = [...parameters].filter(([name]) => !own.has(name));
    session.query(`USE \`${parameter("database") || "default"}\``);
    if (settings.length > 0)
      session.query(`SET ${settings.map(([name, value]) => `${name} = ${quoted(value)}`).join(", ")}`);
    try {
      const query = parameter("query");
      response.end(await run(query === "" ? body : `${query}\n${body}`, parameter("default_format")));
    } finally {
      const names = settings.map(([name]) => name).filter((name) => !name.startsWith("param_"));
      if (names.length > 0) session.query(`SET ${names.map((name) => `${name} = DEFAULT`).join(", ")}`);
    }
  } catch (error) {
    const message = String(error.message);
    response.statusCode = 500;
    response.setHeader("X-ClickHouse-Exception-Code", /Code: (\d+)/.exec(message)?.[1] ?? "0");
    response.end(message);
  }
}

/** Runs a statement on another thread, so that a ping is answered meanwhile. */
async function run(text, format) {
  const result = await session.queryAsync(text, {
    format: /FORMAT Native\s*$/.test(text) ? "Native" : format || "TabSeparated",
  });
  return Buffer.from(result.bytes());
}

function quoted(value) {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
