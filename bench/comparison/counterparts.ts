import { join } from "node:path";
import { post } from "../events.ts";
import { runLoad } from "../generators.ts";
import type { LoadResult } from "../load.ts";
import { copyDatabase, postgresPid } from "../postgres.ts";
import {
  acceptsConnections,
  deleteFolder,
  freePort,
  makeFolder,
  run,
  startServer,
  stop,
} from "../processes.ts";
import { type Server, startHandWritten, startTidings, startTidingsOnPostgres } from "../servers.ts";
import { findProgram, type Program } from "./debian.ts";

export type Load = { connections: number; warmupMs: number; durationMs: number; bodies: string[] };

/** A started server that single events are sent to. */
export type Started = {
  /** Processes whose memory and processor time are its own, with all that they start. */
  pids: number[];
  send(load: Load): Promise<LoadResult>;
  /** How many events it holds. */
  countEvents(): Promise<number>;
  stop(): Promise<void>;
};

/** What Tidings is compared with, or Tidings itself. */
export type Counterpart = {
  name: string;
  protocol: string;
  /** The state of an event when its sender is told that it is stored. */
  acknowledges: string;
  start(): Promise<Started>;
};

const findRedis = () =>
  findProgram("redis-server", ["redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1"]);
const findNats = () => findProgram("nats-server", ["nats-server"]);

const natsSyncs = "on the disk, in a log";
const natsDoesNotSync = "**not on the disk** for up to two minutes";

/** All of them, in the order of the table. NATS is asked what it can do, so this may download it. */
export async function listCounterparts(): Promise<Counterpart[]> {
  return [
    {
      name: "Tidings (SQLite)",
      protocol: "HTTP",
      acknowledges: "on the disk, checked, indexed and searchable",
      start: async () => overHttp(await startTidings()),
    },
    {
      name: "Tidings (PostgreSQL)",
      protocol: "HTTP",
      acknowledges: "on the disk, checked, indexed and searchable",
      start: async () => overHttp(await startTidingsOnPostgres(1), [await postgresPid()]),
    },
    {
      name: "Fastify + better-sqlite3, by hand",
      protocol: "HTTP",
      acknowledges: "on the disk, with two indexes",
      start: async () => overHttp(await startHandWritten()),
    },
    {
      name: "PostgreSQL, an `INSERT` each",
      protocol: "its own protocol",
      acknowledges: "on the disk, with two indexes",
      start: startPlainPostgres,
    },
    {
      name: "Redis Streams",
      protocol: "RESP",
      acknowledges: "on the disk, in a log, and in memory",
      start: startRedis,
    },
    {
      name: "NATS JetStream",
      protocol: "its own protocol",
      acknowledges: (await natsAlwaysSyncs().catch(() => true)) ? natsSyncs : natsDoesNotSync,
      start: startNats,
    },
  ];
}

/** Adds how events are sent to a server that speaks Tidings' API. */
function overHttp(server: Server, otherPids: number[] = []): Started {
  return {
    pids: [...server.pids, ...otherPids],
    send: ({ bodies, ...times }) =>
      runLoad({
        ...times,
        ports: server.ports,
        expectedStatus: 201,
        requests: bodies.map((body) => post(body, server.apiKey)),
      }),
    countEvents: async () => (await server.countEvents())!,
    stop: server.stop,
  };
}

/** Sends with an official client, in a process of its own. */
async function publish(job: Load & { kind: string; port?: number; url?: string }): Promise<LoadResult> {
  const command = [process.execPath, "bench/comparison/publish.mjs"];
  return JSON.parse(await run({ command, stdin: JSON.stringify(job) })) as LoadResult;
}

/** The table of the hand-written server, without the server. */
async function startPlainPostgres(): Promise<Started> {
  const database = await copyDatabase(null);
  await database.run(`
    CREATE TABLE events (
      id uuid PRIMARY KEY, project integer NOT NULL, channel text NOT NULL, name text NOT NULL, user_id text NOT NULL,
      description text, icon text, notify boolean NOT NULL, tags jsonb NOT NULL, created_at timestamptz NOT NULL
    );
    CREATE INDEX events_by_channel ON events (project, channel, created_at);
    CREATE INDEX events_by_user ON events (project, user_id, created_at);`);
  return {
    pids: [await postgresPid()],
    send: (load) => publish({ kind: "postgres", url: database.url, ...load }),
    countEvents: () => database.number("SELECT count(*) FROM events"),
    stop: database.drop,
  };
}

export async function startRedis(): Promise<Started> {
  const program = await findRedis();
  return startProgram(program, (port, folder) => {
    const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
    const command = [program.path, "--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, ...durable];
    const countEvents = async () => {
      const cli = join(program.path, "../redis-cli");
      return Number(await run({ command: [cli, "-p", `${port}`, "XLEN", "events"], env: program.env }));
    };
    return { kind: "redis", command, countEvents };
  });
}

export async function startNats(): Promise<Started> {
  const program = await findNats();
  const settings = (await natsAlwaysSyncs()) ? "sync_interval: always" : "";
  const monitorPort = freePort();
  return startProgram(program, async (port, folder) => {
    const file = join(folder, "nats.conf");
    const listen = `listen: "127.0.0.1:${port}"\nhttp: "127.0.0.1:${monitorPort}"\n`;
    await Bun.write(file, `${listen}jetstream { store_dir: "${folder}/js"\n${settings}\n}\n`);
    const countEvents = async () => {
      const response = await fetch(`http://127.0.0.1:${monitorPort}/jsz`);
      return ((await response.json()) as { messages: number }).messages;
    };
    return { kind: "nats", command: [program.path, "--config", file], countEvents };
  });
}

/** Whether this version of NATS can flush each message before it acknowledges it. */
async function natsAlwaysSyncs(): Promise<boolean> {
  const { path } = await findNats();
  const folder = await makeFolder();
  try {
    const file = join(folder, "try.conf");
    await Bun.write(file, `jetstream { store_dir: "${folder}"\nsync_interval: always\n}\n`);
    await run({ command: [path, "-t", "--config", file] });
    return true;
  } catch {
    return false;
  } finally {
    await deleteFolder(folder);
  }
}

type Prepared = { kind: string; command: string[]; countEvents: () => Promise<number> };

async function startProgram(
  { env }: Program,
  prepare: (port: number, folder: string) => Prepared | Promise<Prepared>,
): Promise<Started> {
  const port = freePort();
  const folder = await makeFolder();
  const { kind, command, countEvents } = await prepare(port, folder);
  const server = await startServer(port, { command, env }, acceptsConnections);
  return {
    pids: [server.pid],
    send: (load) => publish({ kind, port, ...load }),
    countEvents,
    async stop() {
      await stop(server);
      await deleteFolder(folder);
    },
  };
}

/** The versions of the programs that were started, for the line below a table. */
export async function describePrograms(): Promise<string> {
  const redis = findRedis().then(({ path, env }) => run({ command: [path, "--version"], env }));
  const nats = findNats().then(({ path }) => run({ command: [path, "--version"] }));
  const versions = await Promise.allSettled([redis, nats]);
  return versions.map((result, index) => describe(["Redis", "NATS"][index]!, result)).join(", ");
}

function describe(name: string, result: PromiseSettledResult<string>): string {
  if (result.status === "rejected") return `${name} not found`;
  return `${name} ${/v=?(\d[\d.]*)/.exec(result.value)?.[1] ?? ""}`;
}

/** What the unpacked programs take on disk. */
export async function installedBytes(): Promise<{ redis: number; nats: number }> {
  const [redis, nats] = await Promise.all([findRedis(), findNats()]);
  return { redis: redis.installedBytes, nats: nats.installedBytes };
}
