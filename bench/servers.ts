import { Database } from "bun:sqlite";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { blockEventsUsual as blockEventsOnPostgres } from "../server/storage/postgres/build-blocks.ts";
import { blockEventsUsual } from "../server/storage/sqlite/build-blocks.ts";
import { copyDatabase, type Database as PostgresDatabase } from "./postgres.ts";
import { deleteFolder, freePort, makeFolder, root, run, startServer, stop } from "./processes.ts";

/** A server under load on loopback, or several on the same data. Its data is deleted when it stops. */
export type Server = {
  ports: number[];
  apiKey: string;
  pids: number[];
  /** How many events it holds, or null if it stores none. */
  countEvents(): Promise<number | null>;
  stop(): Promise<void>;
};

/** Tidings itself, whose memory and disk usage are measured too. */
export type Tidings = Omit<Server, "countEvents"> & {
  diskBytes(): Promise<number>;
  /** Waits for, or runs, the background work that follows many events within a minute or two. */
  settle(): Promise<void>;
  countEvents(): Promise<number>;
  /** Stops the process, and keeps its data until `stop`. */
  halt(): Promise<void>;
  /** Runs a `tidings` command on its data. `onStart` is called with the id of the command's process. */
  command(parameters: string[], stdin: string, onStart?: (pid: number) => void): Promise<string>;
};

const bun = process.execPath;
/** Ten million events take about ten minutes. */
const blocksTimeoutMs = 5_400_000;
/** The key of the servers that get theirs from the environment. */
const fixedKey = "tdg_sk_0123456789abcdefghijABCDEFGHIJabcdef";

/** Encrypts the secrets of Tidings' nodes on PostgreSQL. */
const secretKey = "A".repeat(43);

/** `Bun.serve` that parses JSON and returns it: the upper bound. */
export async function startEcho(): Promise<Server> {
  const port = freePort();
  const server = await startServer(port, {
    command: [bun, "bench/echo.ts"],
    env: { PORT: String(port) },
  });
  return {
    ports: [port],
    apiKey: fixedKey,
    pids: [server.pid],
    countEvents: async () => null,
    stop: () => stop(server),
  };
}

/** Fastify and better-sqlite3 on Node, a commit per request. */
export async function startHandWritten(): Promise<Server> {
  const port = freePort();
  const folder = await makeFolder();
  const file = join(folder, "events.db");
  const server = await startServer(port, {
    command: ["node", "bench/hand-written.mjs"],
    env: { PORT: String(port), DATABASE: file, API_KEY: fixedKey, NODE_ENV: "production" },
  });
  return {
    ports: [port],
    apiKey: fixedKey,
    pids: [server.pid],
    countEvents: async () => {
      using database = new Database(file, { readonly: true });
      return database.query<{ count: number }, []>("SELECT count(*) AS count FROM events").get()!.count;
    },
    stop: async () => {
      await stop(server);
      await deleteFolder(folder);
    },
  };
}

/** Fastify and `pg` on Node, a commit per request. */
export async function startHandWrittenPostgres(): Promise<Server> {
  const port = freePort();
  const database = await copyDatabase(null);
  const server = await startServer(port, {
    command: ["node", "bench/hand-written-postgres.mjs"],
    env: { PORT: String(port), DATABASE_URL: database.url, API_KEY: fixedKey, NODE_ENV: "production" },
  });
  return {
    ports: [port],
    apiKey: fixedKey,
    pids: [server.pid],
    countEvents: () => database.number("SELECT count(*) FROM events"),
    stop: async () => {
      await stop(server);
      await database.drop();
    },
  };
}

/** Creates an account and a key in an empty database, with the program's own commands, and returns the key. */
async function install(env: Record<string, string>): Promise<string> {
  const command = commandOn(env);
  await command(
    ["account", "create", "--email", "bench@example.com", "--password-stdin"],
    "password-for-bench",
  );
  const created = await command(
    ["key", "create", "--project", "default", "--name", "bench", "--scopes", "ingest,read,manage"],
    "",
  );
  return created.trim();
}

/** Returns the function that runs `tidings` commands with these settings. */
function commandOn(env: Record<string, string>) {
  return (parameters: string[], stdin: string, onStart?: (pid: number) => void): Promise<string> =>
    run({ command: [bun, "server/commands/tidings.ts", ...parameters], env, stdin }, onStart);
}

let installed: Promise<{ folder: string; apiKey: string }> | undefined;

async function installOnce(): Promise<{ folder: string; apiKey: string }> {
  const folder = await makeFolder();
  return { folder, apiKey: await install({ TIDINGS_DATA: folder }) };
}

/**
 * The whole program, as users start it, on a copy of an installation without events.
 *
 * @param settings - further environment variables
 */
export async function startTidings(settings: Record<string, string> = {}): Promise<Tidings> {
  installed ??= installOnce();
  const { folder: template, apiKey } = await installed;
  const folder = await makeFolder();
  await cp(template, folder, { recursive: true });
  const node = await startNode({ TIDINGS_DATA: folder, ...settings });
  const file = join(folder, "tidings.db");
  return {
    ports: [node.port],
    apiKey,
    pids: [node.pid],
    diskBytes: async () => {
      using database = new Database(file, { readonly: true });
      // Includes pages that are still in the WAL.
      return database
        .query<{ bytes: number }, []>(
          "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
        )
        .get()!.bytes;
    },
    settle: async () => {
      using database = new Database(file, { readonly: true });
      const statement = database.query<{ events: number }, []>(eventsOutsideBlocks);
      await waitForBlocks(blockEventsUsual, async () => statement.get()!.events);
    },
    countEvents: () => countEvents(node.port, apiKey),
    halt: node.stop,
    command: commandOn({ TIDINGS_DATA: folder, TIDINGS_API_KEY: apiKey }),
    stop: async () => {
      await node.stop();
      await deleteFolder(folder);
    },
  };
}

/** Counts the events that are in no block. */
const eventsOutsideBlocks =
  "SELECT (SELECT coalesce(sum(events), 0) FROM channels) - coalesce(sum(events - changed), 0) AS events FROM blocks";

/** Waits until the block builder has left fewer events than this out of blocks. */
async function waitForBlocks(eventsMax: number, countLeft: () => Promise<number>): Promise<void> {
  const deadline = performance.now() + blocksTimeoutMs;
  for (;;) {
    const events = await countLeft();
    if (events < eventsMax) return;
    if (performance.now() > deadline)
      throw new Error(`${events} events are in no block after ${blocksTimeoutMs / 60_000} minutes.`);
    await Bun.sleep(500);
  }
}

type TidingsOnPostgres = Tidings & { database: PostgresDatabase };

let postgresKey = "";

/** Tidings on PostgreSQL, with several nodes. */
export async function startTidingsOnPostgres(nodes: number): Promise<TidingsOnPostgres> {
  const database = await copyDatabase(async (url) => {
    postgresKey = await install({ DATABASE_URL: url, TIDINGS_SECRET_KEY: secretKey });
  });
  return startNodes(nodes, database, () => database.drop());
}

/** Starts further nodes on an existing database. */
export async function startNodes(
  count: number,
  database: PostgresDatabase,
  drop: () => Promise<void> = async () => {},
): Promise<TidingsOnPostgres> {
  const env = { DATABASE_URL: database.url, TIDINGS_SECRET_KEY: secretKey };
  const nodes = await Promise.all(Array.from({ length: count }, () => startNode(env)));
  const ports = nodes.map(({ port }) => port);
  return {
    ports,
    apiKey: postgresKey,
    pids: nodes.map(({ pid }) => pid),
    database,
    diskBytes: () => database.number("SELECT pg_database_size(current_database())"),
    settle: async () => {
      // The newest blocks hold an eighth of the usual number, and there are none until one usual block can be filled.
      if ((await countEvents(ports[0]!, postgresKey)) >= blockEventsOnPostgres) {
        await waitForBlocks(blockEventsOnPostgres / 8, () => database.number(eventsOutsideBlocks));
      }
      await database.run("VACUUM (ANALYZE)");
    },
    countEvents: () => countEvents(ports[0]!, postgresKey),
    async halt() {
      for (const node of nodes) await node.stop();
    },
    command: commandOn(env),
    stop: async () => {
      for (const node of nodes) await node.stop();
      await drop();
    },
  };
}

async function startNode(database: Record<string, string>) {
  const port = freePort();
  const env = {
    ...database,
    HOST: "127.0.0.1",
    PORT: String(port),
    NODE_ENV: "production",
    // The push service runs on this machine.
    TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true",
  };
  const server = await startServer(port, { command: [bun, "server/main.ts"], cwd: root, env });
  return { port, pid: server.pid, stop: () => stop(server) };
}

async function countEvents(port: number, apiKey: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/api/channels`, { headers: { "x-api-key": apiKey } });
  if (!response.ok)
    throw new Error(`GET /api/channels answered ${response.status}: ${await response.text()}`);
  const { channels } = (await response.json()) as { channels: { events: number }[] };
  return channels.reduce((sum, channel) => sum + channel.events, 0);
}
