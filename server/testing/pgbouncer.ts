import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";

/** The pgbouncer program, if it is installed; npm does not have it. */
const program = Bun.which("pgbouncer", { PATH: `${process.env.PATH}:/usr/sbin` });

export const hasPgbouncer = program !== null;

export type TestPgbouncer = {
  /** The connection string of the database through pgbouncer. */
  url: string;
  start: () => Promise<void>;
  /** Stops it and closes all its connections. */
  stop: () => Promise<void>;
  remove: () => Promise<void>;
};

/** Starts pgbouncer in transaction mode, in which each transaction may use a different connection. */
export async function startPgbouncer(databaseUrl: string): Promise<TestPgbouncer> {
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl);
  const directory = mkdtempSync(join(tmpdir(), "tidings-pgbouncer-"));
  const port = await freePort();
  const users = join(directory, "users");
  const settings = join(directory, "pgbouncer.ini");
  writeFileSync(users, `"${username}" "${password}"\n`);
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 6
`,
  );
  // It refuses to run as root. It reads its files before it switches to another user.
  const as = userInfo().uid === 0 ? ["-u", "nobody"] : [];
  let child: Bun.Subprocess | null = null;

  async function start(): Promise<void> {
    child = Bun.spawn([program!, "-q", ...as, settings], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    for (;;) {
      if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}.`);
      const connected = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).then(
        (socket) => socket.end(),
        () => null,
      );
      if (connected !== null) return;
      await Bun.sleep(20);
    }
  }
  async function stop(): Promise<void> {
    child?.kill("SIGTERM");
    await child?.exited;
  }

  await start();
  return {
    url: Object.assign(new URL(databaseUrl), { port }).href,
    start,
    stop,
    async remove() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
