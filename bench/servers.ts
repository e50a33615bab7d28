import { Database } from "bun:sqlite";
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

/** The whole program, as a person would start it, with an account and a key made by its own commands. */
export async function startTidings(): Promise<Server> {
  const port = freePort();
  const folder = await makeFolder();
  const env = { TIDINGS_DATA: folder, HOST: "127.0.0.1", PORT: String(port), NODE_ENV: "production" };
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
  const apiKey = created.trim();
  const server = await startServer(port, { command: [bun, "server/main.ts"], cwd: root, env });
  return {
    port,
    apiKey,
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
