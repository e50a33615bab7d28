import { resolve } from "node:path";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createKey } from "../auth/keys.ts";
import { type Config, commandApiKey, readConfig } from "../config/config.ts";
import type { Scope } from "../core/permissions.ts";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import { openStore } from "../process/open-store.ts";
import { findProject } from "../projects/projects.ts";
import { runningProcess } from "../storage/sqlite/directory.ts";
import type { Store } from "../storage/store.ts";
import { type EventSink, httpSink, localSink } from "./event-sink.ts";
import { startInnerServer } from "./inner-server.ts";
import { onBrokenPipe } from "./output.ts";
import { ArgumentError, failCommand, UsageError } from "./with-store.ts";

/** How long a server on this machine may take to answer. */
const serverWaitMs = 10_000;
const serverPollMs = 100;
/** A key of a command that was killed is of no use after this time. While the command runs, its key is renewed. */
const keyLifeMs = 60 * 60_000;
const keyRenewalMs = keyLifeMs / 4;
const keyName = "Command line";

/** The options that say where a command finds events. */
export const sourceArgs = {
  project: {
    type: "string",
    description: 'Project, by name or slug (default: "default"; with --url, the project of the key)',
    valueHint: "P",
  },
  url: {
    type: "string",
    description: "A server to use instead of this machine's data; its API key is in TIDINGS_API_KEY",
    valueHint: "URL",
  },
} as const;

type SourceValues = { project?: string | undefined; url?: string | undefined };

/** A project's API: of a server elsewhere, of the server on this machine, or of one that runs inside this command. */
export type Source = {
  /** The address or the project, for people. */
  name: string;
  /** Tells the project from those of other databases and keys, for checkpoints. */
  id: string;
  /** Sends a request. Throws an AnswerError with the problem's sentence, or a UsageError if there is no answer. */
  request(path: string, init?: RequestInit): Promise<Response>;
  json<Body>(path: string, init?: RequestInit): Promise<Body>;
  /** Where an import puts what it finds. */
  sink(): EventSink;
};

/** The server answered that it can't do what was asked. */
export class AnswerError extends UsageError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Server = {
  url: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  close: () => Promise<void>;
};
type Opened = Server & {
  apiKey: string;
  name: string;
  id: string;
  /** Of the server that runs inside this command. */
  inside?: { recorder: Recorder; store: Store; project: EventSource };
};

/**
 * Runs a command on a project's events, with a key of these scopes where it makes one itself, and ends the process: with the code if `work` returns one, with 1 and a message on
 * standard error, or with 130 after Ctrl+C.
 */
export async function withSource(
  args: SourceValues,
  scopes: readonly [Scope, ...Scope[]],
  work: (source: Source) => Promise<unknown>,
): Promise<void> {
  let opened: Opened | null = null;
  let code = 0;
  const end = async (code: number) => {
    await opened?.close().catch(() => {});
    process.exit(code);
  };
  process.once("SIGINT", () => end(130));
  process.once("SIGTERM", () => end(143));
  onBrokenPipe(() => end(0));
  try {
    opened = await open(args, scopes);
    const result = await work(sourceOf(opened));
    if (typeof result === "number") code = result;
  } catch (error) {
    code = failCommand(error);
  }
  await opened?.close().catch((error) => {
    code ||= failCommand(error);
  });
  process.exit(code);
}

async function open({ project, url }: SourceValues, scopes: readonly Scope[]): Promise<Opened> {
  if (url === undefined) return openLocal(project ?? "default", scopes);
  if (project !== undefined)
    throw new ArgumentError("--project can't be used with --url: an API key belongs to one project.");
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ArgumentError("--url must be the address of Tidings, such as https://tidings.example.com.");
  const apiKey = commandApiKey();
  if (apiKey === undefined)
    throw new ArgumentError(
      "Set TIDINGS_API_KEY to an API key of the project (Connections → API keys in the dashboard).",
    );
  const name = new URL(url).host;
  // A key belongs to one project; the API doesn't name it.
  const id = `${name} ${hashOf(apiKey)}`;
  return { url: url.replace(/\/+$/, ""), apiKey, name, id, fetch, close: async () => {} };
}

/** Uses the server that has the data directory open, or runs one that nobody else knows of. */
async function openLocal(project: string, scopes: readonly Scope[]): Promise<Opened> {
  const config = readConfig();
  const address = config.databaseUrl === null ? await findServer(config) : null;
  if (address === null) {
    const { store, recorder, ...running } = await startInnerServer();
    const server = {
      url: running.address,
      fetch: (url: string, init: RequestInit) => running.fetch(new Request(url, init)),
      close: running.stop,
    };
    return withKey(config, store, project, scopes, server, (project) => ({ recorder, store, project }));
  }
  const store = await openStore(config, {
    onFatal: failCommand,
    onDamage: failCommand,
    onInfo: () => {},
    onMigrating: () => {},
    onError: failCommand,
    onWarning: () => {},
    onWaiting: () => {},
    connectTimeoutMs: serverWaitMs,
    mayCreate: false,
    mayUpgrade: false,
  });
  return withKey(config, store, project, scopes, { url: address, fetch, close: () => store.close() });
}

/** Makes a key for as long as the command runs, with the scopes that it needs. */
async function withKey(
  config: Config,
  { control }: Store,
  projectName: string,
  scopes: readonly Scope[],
  server: Server,
  insideOf?: (project: EventSource) => Opened["inside"],
): Promise<Opened> {
  try {
    const { id: projectId, slug } = await findProject(control, projectName);
    const own = control.deleteFrom("keys").where("projectId", "=", projectId).where("name", "=", keyName);
    await own.where("expiresAt", "<", Date.now()).execute();
    const expiry = () => Date.now() + keyLifeMs;
    const settings = { name: keyName, scopes: [...scopes], expiresAt: new Date(expiry()).toISOString() };
    const { key, secret } = await makeChange(control, { actor: commandActor, projectId }, (change) =>
      createKey(change, settings),
    );
    const renewal = setInterval(() => {
      // If this fails, the command fails when its key expires.
      control
        .updateTable("keys")
        .set({ expiresAt: expiry() })
        .where("id", "=", key.id)
        .execute()
        .catch(failCommand);
    }, keyRenewalMs);
    renewal.unref();
    const { knownChannelsOnly, eventsPerDay, createdAt } = await control
      .selectFrom("projects")
      .select(["knownChannelsOnly", "eventsPerDay", "createdAt"])
      .where("id", "=", projectId)
      .executeTakeFirstOrThrow();
    const inside = insideOf?.({
      projectId,
      knownChannelsOnly: knownChannelsOnly === 1,
      eventsPerDay,
      mayRead: true,
    });
    return {
      ...server,
      ...(inside && { inside }),
      apiKey: secret,
      name: slug,
      // A directory can be copied, or emptied and used again.
      id: `${projectId} ${createdAt} ${hashOf(config.databaseUrl ?? resolve(config.dataDirectory))}`,
      async close() {
        clearInterval(renewal);
        await own.where("id", "=", key.id).execute();
        await server.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Tells secrets apart without showing them. */
function hashOf(secret: string): string {
  return Bun.SHA256.hash(secret, "hex").slice(0, 16);
}

/** The address of the server that has the data directory open; null if there is none. Waits for other commands. */
async function findServer(config: Config): Promise<string | null> {
  const host = ["0.0.0.0", "::", ""].includes(config.host) ? "127.0.0.1" : config.host;
  const address = `http://${host.includes(":") ? `[${host}]` : host}:${config.port}`;
  for (const endMs = performance.now() + serverWaitMs; ; await Bun.sleep(serverPollMs)) {
    const user = runningProcess(config.dataDirectory);
    if (user === null) return null;
    const isReady = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(serverWaitMs) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return address;
    if (performance.now() > endMs)
      throw new UsageError(
        `${user} is using ${config.dataDirectory}, and no server answers at ${address}. Set HOST and PORT as for the server, or use --url.`,
      );
  }
}

function sourceOf({ url, fetch, apiKey, name, id, inside }: Opened): Source {
  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("x-api-key", apiKey);
    if (typeof init.body === "string") headers.set("content-type", "application/json");
    const response = await fetch(url + path, { ...init, headers, redirect: "manual" }).catch((error) => {
      throw new UsageError(`${url} can't be reached: ${error.message}`);
    });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => ({}))) as { detail?: string };
    const { status } = response;
    throw new AnswerError(status, problem.detail ?? `${url} answered with status ${status}.`);
  }
  return {
    name,
    id,
    request,
    json: async <Body>(path: string, init?: RequestInit) => (await request(path, init)).json() as Body,
    sink: () =>
      inside
        ? localSink(inside.recorder, inside.store, inside.project)
        : httpSink({ url, apiKey, fetch, request }),
  };
}
