import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";

/** Where `scripts/test-clickhouse.mjs` installs chDB, which is not among the project's packages because of its size. */
const packages = join(import.meta.dir, "../../node_modules/.cache/tidings-clickhouse");

/** A server that tests kill and start again. Its files stay until `remove`. */
export type TestClickHouse = {
  /** The address of a new, empty database. */
  database: () => Promise<string>;
  start: () => Promise<void>;
  /** Ends it as a crash does. */
  kill: () => Promise<void>;
  remove: () => Promise<void>;
};

let count = 0;

/** Starts a server of one's own, with its files in an empty directory. */
export async function startClickHouse(
  directory = mkdtempSync(join(tmpdir(), "tidings-clickhouse-")),
): Promise<TestClickHouse> {
  const port = await freePort();
  const url = `http://default@127.0.0.1:${port}`;
  let server: Bun.Subprocess<"pipe", "pipe", "inherit">;

  async function start(): Promise<void> {
    server = Bun.spawn(
      ["node", join(import.meta.dir, "clickhouse-server.mjs"), `${port}`, join(directory, "data"), packages],
      { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    );
    const { done } = await server.stdout.getReader().read();
    if (done)
      throw new Error(
        "ClickHouse for the tests did not start. Run npm run test:clickhouse once: it installs chDB.",
      );
  }
  async function kill(): Promise<void> {
    server.kill("SIGKILL");
    await server.exited;
  }
  await start();
  return {
    database: () => makeDatabase(url),
    start,
    kill,
    async remove() {
      await kill();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Creates a database on the server that all tests of this run share, and returns its address. */
export async function testClickHouseDatabase(): Promise<string> {
  const server = process.env.TIDINGS_TEST_CLICKHOUSE;
  if (!server) throw new Error("Run tests on ClickHouse with npm run test:clickhouse.");
  return makeDatabase(server);
}

async function makeDatabase(server: string): Promise<string> {
  const name = `test_${process.pid}_${++count}`;
  await execute(server, `CREATE DATABASE ${name}`);
  return `${server}/${name}`;
}

export async function dropClickHouseDatabase(address: string): Promise<void> {
  const url = new URL(address);
  await execute(url.origin, `DROP DATABASE ${url.pathname.slice(1)}`);
}

async function execute(server: string, sql: string): Promise<void> {
  const { origin } = new URL(server);
  const response = await fetch(origin, { method: "POST", body: sql });
  if (!response.ok) throw new Error(await response.text());
}

/** As a program: starts the server that all tests of a run share, prints its address, and ends with its standard input. */
if (import.meta.main) {
  const server = await startClickHouse();
  console.log(new URL(await server.database()).href.replace(/\/[^/]+$/, ""));
  await Bun.stdin.text();
  await server.remove();
}
