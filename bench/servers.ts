import { Database } from "bun:sqlite";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { deleteFolder, freePort, makeFolder, root, run, startServer, stop } from "./processes.ts";

/** A server under load, on loopback, with data of its own that goes with it. */
export type Server = {
  port: number;
  apiKey: string;
  /** How many events it holds, or null where it keeps none. */
  countEvents(): Promise<number | null>;
  stop(): Promise<void>;
};

/** Tidings itself, whose process and file are measured too. */
export type Tidings = Server & { pid: number; databaseFile: string; countEvents(): Promise<number> };

const bun = process.execPath;

/** `Bun.serve` that parses JSON and answers it: the ceiling. */
export async function startEcho(): Promise<Server> {
  const port = freePort();
  const server = await startServer(port, {
    command: [bun, "bench/echo.ts"],
    env: { PORT: String(port) },
  });
  return {
    port,
    apiKey: "tdg_sk_0123456789abcdefghijABCDEFGHIJabcdef",
    countEvents: async () => null,
    stop: () => stop(server),
  };
}

/** Fastify and better-sqlite3 under Node, a commit for each request. */
export async function startHandWritten(): Promise<Server> {
  const port = freePort();
  const folder = await makeFolder();
  const apiKey = "tdg_sk_0123456789abcdefghijABCDEFGHIJabcdef";
  const file = join(folder, "events.db");
  const server = await startServer(port, {
    command: ["node", "bench/hand-written.mjs"],
    env: { PORT: String(port), DATABASE: file, API_KEY: apiKey, NODE_ENV: "production" },
  });
  return {
    port,
    apiKey,
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

let installation: Promise<{ folder: string; apiKey: string }> | undefined;

/** A data directory with an account and a key, made once by the program's own commands. */
async function install(): Promise<{ folder: string; apiKey: string }> {
  const folder = await makeFolder();
  const env = { TIDINGS_DATA: folder };
  const tidings = [bun, "server/commands/tidings.ts"];
  await run({
    command: [...tidings, "account", "create", "--email", "bench@example.com", "--password-stdin"],
    env,
    stdin: "password-for-bench",
  });
  const created = await run({
    command: [...tidings, "key", "create", "--project", "default", "--name", "bench"],
    env,
  });
  return { folder, apiKey: created.trim() };
}

/** The whole program, as a person would start it, on a copy of an installation without events. */
export async function startTidings(): Promise<Tidings> {
  installation ??= install();
  const { folder: installed, apiKey } = await installation;
  const port = freePort();
  const folder = await makeFolder();
  await cp(installed, folder, { recursive: true });
  const env = { TIDINGS_DATA: folder, HOST: "127.0.0.1", PORT: String(port), NODE_ENV: "production" };
  const server = await startServer(port, { command: [bun, "server/main.ts"], cwd: root, env });
  return {
    port,
    apiKey,
    pid: server.pid,
    databaseFile: join(folder, "tidings.db"),
    countEvents: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/channels`, {
        headers: { "x-api-key": apiKey },
      });
      if (!answer.ok) throw new Error(`GET /api/channels answered ${answer.status}: ${await answer.text()}`);
      const { channels } = (await answer.json()) as { channels: { events: number }[] };
      return channels.reduce((sum, channel) => sum + channel.events, 0);
    },
    stop: async () => {
      await stop(server);
      await deleteFolder(folder);
    },
  };
}
