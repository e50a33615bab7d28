import pg, { type ClientBase } from "pg";
import type { Config } from "../config/config.ts";
import { moveAgain } from "../storage/clickhouse/diagnose.ts";
import { addressesIn } from "../storage/clickhouse/servers.ts";
import { diagnose, rebuild } from "../storage/postgres/diagnose.ts";
import { connectionSettings } from "../storage/postgres/pool.ts";
import { checkServer } from "../storage/postgres/server-settings.ts";
import { type BlockCoverage, blockCoverageSql } from "../storage/unindexed.ts";
import { checkClickHouse } from "./check-clickhouse.ts";
import { findingsOf, isReadable } from "./diagnosis-findings.ts";
import { type Finding, type Fix, ok, problemFound, warning } from "./finding.ts";
import { unindexedFinding } from "./unindexed-finding.ts";

type Database = Pick<Config, "databaseUrl" | "databaseConnections"> & Partial<Pick<Config, "clickhouseUrl">>;

/** Clocks of two machines may differ by this much, in milliseconds. */
const clockMs = 5_000;
/** Connections of a node beside DATABASE_CONNECTIONS: those that store events and listen. */
const eventConnections = 4;
const gigabyte = 1e9;
/** With ClickHouse, what these checks compare is in both databases, or not there. */
const comparedOnBoth = new Set(["counters", "blocks", "ids of clients"]);

/** Checks the database and its server. All events are read. */
export async function checkPostgres(config: Database): Promise<Finding[]> {
  let client: pg.Client;
  try {
    client = await connect(config);
  } catch (error) {
    return [
      problemFound(
        "database",
        `${(error as Error).message}.`,
        "Check DATABASE_URL, and whether PostgreSQL runs and accepts connections from here.",
      ),
    ];
  }
  try {
    const settings = await checkSettings(client, config);
    const found = await diagnose(client);
    if (config.clickhouseUrl && isReadable(found)) {
      const older = await checkClickHouse(client, config.clickhouseUrl);
      const own = findingsOf(found, "postgres").filter(({ check }) => !comparedOnBoth.has(check));
      return [...settings, ...own, ...older];
    }
    const coverage = isReadable(found) ? (await client.query<BlockCoverage>(blockCoverageSql)).rows : [];
    return [...settings, ...findingsOf(found, "postgres"), ...coverage.map(unindexedFinding)];
  } catch (error) {
    return [problemFound("database", `${(error as Error).message}.`, "See PostgreSQL's own log.")];
  } finally {
    await client.end().catch(() => {});
  }
}

/** Rebuilds parts of the database from its events. Throws if a server is using it. */
export async function fixPostgres(config: Database, fixes: ReadonlySet<Fix>): Promise<void> {
  const client = await connect(config);
  try {
    await refuseUsers(client);
    if (fixes.has("older")) await moveAgain(client, addressesIn(config.clickhouseUrl!));
    const parts = [...fixes].filter((fix) => fix !== "rights" && fix !== "older");
    await rebuild(client, new Set(parts));
  } finally {
    await client.end().catch(() => {});
  }
}

async function refuseUsers(client: ClientBase): Promise<void> {
  const { rows: users } = await client.query<{ name: string }>(
    `SELECT DISTINCT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'tidings %'
       AND application_name <> current_setting('application_name')`,
  );
  if (users.length === 0) return;
  const names = users.map(({ name }) => `"${name}"`).join(", ");
  throw new Error(`The database is in use by ${names}. Stop all nodes first.`);
}

async function connect({ databaseUrl, databaseConnections }: Database): Promise<pg.Client> {
  const client = new pg.Client(connectionSettings({ url: databaseUrl!, connections: databaseConnections }));
  // Without a listener, a lost connection would end the process. The next statement fails and says why.
  client.on("error", () => {});
  await client.connect();
  return client;
}

type Facts = {
  version: string;
  encoding: string;
  autovacuum: string;
  checksums: string;
  extensions: string | null;
  is_standby: boolean;
  bytes: string;
  slots: number;
  used: number;
  clock_ms: number;
};

async function checkSettings(client: ClientBase, config: Database): Promise<Finding[]> {
  const findings: Finding[] = [];
  await checkServer(client, (text) =>
    findings.push(warning("server settings", text, "See docs/postgres.md.")),
  );
  const askedMs = Date.now();
  const { rows } = await client.query<Facts>(facts);
  const answeredMs = Date.now();
  const server = rows[0]!;
  if (findings.length === 0) findings.push(ok("server settings", "Commits are durable."));
  findings.unshift(
    server.encoding === "UTF8"
      ? ok(
          "server",
          `PostgreSQL ${server.version}. Its extensions: ${server.extensions}; Tidings needs none else.`,
        )
      : problemFound(
          "server",
          `The database's encoding is ${server.encoding}.`,
          "Create one with encoding UTF8, and move there: texts in other alphabets can't be stored in this one.",
        ),
  );
  if (server.is_standby)
    findings.push(
      problemFound(
        "server",
        "It is a standby, which can't be written.",
        "Let DATABASE_URL lead to the primary.",
      ),
    );
  if (server.autovacuum !== "on")
    findings.push(
      warning(
        "server settings",
        "autovacuum is off.",
        "Turn it on: without it, tables grow and searches get slow.",
      ),
    );
  const free = server.slots - server.used;
  const needed = config.databaseConnections + eventConnections;
  findings.push(
    free < needed
      ? warning(
          "connections",
          `${free} of ${server.slots} are free, and a node uses up to ${needed}.`,
          "Raise max_connections, or lower DATABASE_CONNECTIONS.",
        )
      : ok("connections", `${free} of ${server.slots} are free.`),
  );
  // The server's clock was read between the two.
  const aheadMs = Math.max(server.clock_ms - answeredMs, askedMs - server.clock_ms, 0);
  findings.push(
    aheadMs > clockMs
      ? warning(
          "clock of the server",
          `It differs from this machine's by ${Math.round(aheadMs / 1_000)} seconds.`,
          "Synchronize both (NTP).",
        )
      : ok("clock of the server", "It agrees with this machine's."),
  );
  const size = `The database has ${(Number(server.bytes) / gigabyte).toFixed(1)} GB.`;
  findings.push(ok("disk of the server", `${size} Its free space can't be seen from here.`));
  if (server.checksums !== "on")
    findings.push(
      ok("checksums", "Off: PostgreSQL can miss a damaged page. pg_checksums --enable turns them on."),
    );
  return findings;
}

const facts = `
  SELECT current_setting('server_version') AS version, current_setting('autovacuum') AS autovacuum,
         current_setting('data_checksums') AS checksums,
         (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()) AS encoding,
         (SELECT string_agg(extname, ', ' ORDER BY extname) FROM pg_extension) AS extensions,
         pg_is_in_recovery() AS is_standby, pg_database_size(current_database())::text AS bytes,
         current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS slots,
         (SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS clock_ms`;
