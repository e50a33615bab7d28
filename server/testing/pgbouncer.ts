import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";

/** The pooler itself, where the machine has it; there is none in npm. */
const program = Bun.which("pgbouncer", { PATH: `${process.env.PATH}:/usr/sbin` });

export const hasPgbouncer = program !== null;

export type TestPgbouncer = {
  /** The database's connection string, with the pooler between. */
  url: string;
  start: () => Promise<void>;
  /** Ends it, and every connection with it. */
  stop: () => Promise<void>;
  remove: () => Promise<void>;
};

/** Puts pgbouncer in front of a database: in transaction mode, in which each transaction may have another connection. */
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
  // It refuses to run as root, and reads its files before it is another.
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
      const isThere = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).then(
        (socket) => socket.end(),
        () => null,
      );
      if (isThere !== null) return;
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
