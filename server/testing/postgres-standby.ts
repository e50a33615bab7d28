import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort, type TestPostgres } from "./postgres.ts";

const slot = "standby";
/** Removes from a copy of a running server's files what belongs only to that server. */
const stripScript = 'cd "$1" && rm -rf postmaster.* pg_replslot/* && find pg_wal -type f -delete';

export type TestStandby = {
  port: number;
  /** Promotes it to primary. */
  promote: () => Promise<void>;
  remove: () => Promise<void>;
};

/**
 * Starts a synchronous standby of a server: each commit waits for it, so what was committed is on both. It is created
 * with the low-level backup functions (https://www.postgresql.org/docs/current/continuous-archiving.html), because npm
 * has no `pg_basebackup`.
 */
export async function startStandby(primary: TestPostgres): Promise<TestStandby> {
  const port = await freePort();
  const files = join(primary.directory, "standby");
  const client = new pg.Client({ connectionString: primary.adminUrl("postgres") });
  await client.connect();
  const { user, password, port: primaryPort } = client;

  await client.query("SELECT pg_create_physical_replication_slot($1, true)", [slot]);
  await client.query("SELECT pg_backup_start($1, true)", [slot]);
  await primary.run("cp", "-a", join(primary.directory, "data"), files);
  const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)");
  await primary.run("sh", "-c", stripScript, "strip", files);
  for (const [name, text] of [
    ["backup_label", rows[0]!.labelfile],
    ["standby.signal", ""],
  ] as const) {
    writeFileSync(join(files, name), text);
    // The server, which runs as another user, writes to them.
    chmodSync(join(files, name), 0o666);
  }
  const connection = { host: "127.0.0.1", port: primaryPort, user, password, application_name: slot };
  const info = Object.entries(connection).map((pair) => pair.join("="));
  const server = primary.server(files, port, {
    primary_conninfo: `'${info.join(" ")}'`,
    primary_slot_name: slot,
  });
  await server.start();

  await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${slot}'`);
  await client.query("ALTER SYSTEM SET synchronous_commit = 'remote_apply'");
  await client.query("SELECT pg_reload_conf()");
  const isSynchronous = async () =>
    (await client.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).rowCount === 1;
  while (!(await isSynchronous())) await Bun.sleep(50);
  await client.end();

  return {
    port,
    async promote() {
      const url = Object.assign(new URL(primary.adminUrl("postgres")), { port });
      const standby = new pg.Client({ connectionString: url.href });
      await standby.connect();
      await standby.query("SELECT pg_promote(true)");
      await standby.end();
    },
    async remove() {
      await server.stop("immediate").catch(() => {});
      rmSync(files, { recursive: true, force: true });
    },
  };
}
