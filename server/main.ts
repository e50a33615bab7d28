import { stdout } from "node:process";
import type { Logger } from "pino";
import { createApp } from "./app.ts";
import { ApiKeyCache } from "./auth/api-key-cache.ts";
import { clientAddressHeader, createAuth } from "./auth/auth.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { type PasswordHashing, scrypt } from "./auth/passwords.ts";
import { openSetup } from "./auth/setup.ts";
import { BackgroundWorker } from "./background/worker.ts";
import { deleteChannel } from "./channels/delete-channel.ts";
import { ProjectChannels } from "./channels/project-channels.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { ArrivalClock } from "./event/id.ts";
import { LiveStreams } from "./events/live.ts";
import { StreamAuthorizer } from "./events/stream-authorizer.ts";
import { FailureLog } from "./failure-log.ts";
import { answerError } from "./http/error-response.ts";
import { checkHost } from "./http/host.ts";
import { createRecorder } from "./ingest/record.ts";
import { recordRoute } from "./ingest/record-route.ts";
import { RejectedEvents } from "./ingest/rejected.ts";
import { limits } from "./limits.ts";
import { createLog } from "./log.ts";
import { DeliveryWorker } from "./notifications/delivery-worker.ts";
import { LiveNotifications } from "./notifications/live-notifications.ts";
import { createTransports } from "./notifications/transports.ts";
import { openStore } from "./open-store.ts";
import { ProblemError, problem } from "./problems.ts";
import { deleteProject } from "./projects/delete-project.ts";
import { Readiness } from "./readiness.ts";
import type { Services } from "./services.ts";
import { getOrCreateSetting } from "./storage/settings.ts";
import type { Follower, Store } from "./storage/store.ts";
import { eraseTraces, eraseUser } from "./users/erase-user.ts";
import { version } from "./version.ts";

/** Between two attempts at a start whose storage went away. */
const waitMs = 500;
/** Requests that are under way at a SIGTERM have this long to end. */
const drainTimeoutMs = 10_000;
/** Bun bounds no body: NDJSON has no end, and `wire/body.ts` bounds every other one as it reads it. */
const bodyBytesMax = Number.MAX_SAFE_INTEGER;

export type Running = {
  store: Store;
  /** Where it listens, such as `http://127.0.0.1:4242`. */
  address: string;
  baseUrl: string;
  /** The link of the first run, or null where there is an account already. */
  setupLink: string | null;
  /** Drains and closes: what was accepted is stored, and the rest is told to come again. */
  stop: () => Promise<void>;
};

/** What the service stands on that a test holds still, or makes cheap. */
type Means = {
  passwords?: PasswordHashing;
  /** The machine's clock, by which events are dated. */
  now?: () => number;
  log?: Logger;
};

/** Puts the service together and listens. */
export async function serve(
  config: Config,
  { passwords = scrypt, now = Date.now, log = createLog(config.logLevel) }: Means = {},
): Promise<Running> {
  const failures = new FailureLog(log);
  const onError = (error: unknown) => failures.taskFailed(error);
  const onWaiting = (why: string) => log.warn(`waiting for the database: ${why}`);
  const onInfo = (message: string, fields: Record<string, unknown>) => log.info(fields, message);
  const server = Bun.serve({
    port: config.port,
    hostname: config.host,
    // `reload` below does not change it.
    maxRequestBodySize: bodyBytesMax,
    idleTimeout: limits.requestSeconds,
    fetch: answerAtStart,
  });
  const store = await openStore(config, {
    onFatal: (error) => {
      log.fatal({ err: error }, "the storage failed; stopping");
      process.exit(1);
    },
    onDamage: (error) => log.fatal(error.message),
    onError,
    onInfo,
    onWarning: (text) => log.warn(text),
    onWaiting,
    connectTimeoutMs: Number.POSITIVE_INFINITY,
  }).catch(async (error) => {
    await server.stop(true);
    throw error;
  });
  const { control } = store;

  const readiness = new Readiness(store.events);
  failures.watch(readiness);

  // The storage may go away while the server starts: it is waited for then as well.
  const waiting = <Result>(work: () => Promise<Result>) => untilAvailable(work, onWaiting);
  const clock = new ArrivalClock(await waiting(() => store.events.lastArrival()), {
    now,
    warn: (warning) => log.warn(warning),
  });
  const streams = new LiveStreams(store.events, clock, onError);
  const keys = new ApiKeyCache(control, onError);
  const streamAuthorizer = new StreamAuthorizer(control, streams, onError);
  const authSecret = await waiting(() =>
    getOrCreateSetting(control, "authSecret", () =>
      Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url"),
    ),
  );

  const baseUrl = config.url ?? `http://localhost:${server.port}`;

  const auth = createAuth(control, { secret: authSecret, baseUrl, passwords, log });
  const {
    transports,
    vapidPublicKey,
    close: closeTransports,
  } = await waiting(() => createTransports(config, control, baseUrl));
  const sender = new DeliveryWorker({ store, transports, onError });
  const liveNotifications = new LiveNotifications(control, streams, onError);
  const rejected = new RejectedEvents({ events: store.events, control, config, onError });
  const projectChannels = new ProjectChannels(control);
  const recorder = createRecorder({ events: store.events, channels: projectChannels, clock });
  const follower: Follower = {
    projects: () => streams.projects(),
    arrived(event, notified) {
      streams.publish(event);
      if (!notified) return;
      sender.wake(event);
      liveNotifications.add(event);
    },
    reached(moment) {
      clock.observe(moment);
      streams.reached(moment);
    },
    skipped: (moment) => streams.skipped(moment),
    deleted: (projectId, deleted) => streams.deleted(projectId, deleted),
  };
  await waiting(() => store.events.follow(follower));
  const worker = new BackgroundWorker({
    store,
    jobs: { "erase-user": eraseUser, "delete-channel": deleteChannel, "delete-project": deleteProject },
    eraseTraces,
    onRemoved: (ids) => sender.forget(ids),
    onError,
    onInfo,
  });
  const authorizer = new Authorizer({ control, auth, keys, baseUrl });
  const services: Services = {
    config,
    baseUrl,
    failures,
    readiness,
    store,
    auth,
    passwords,
    authorizer,
    keys,
    streamAuthorizer,
    streams,
    recorder,
    projectChannels,
    rejected,
    worker,
    transports,
    vapidPublicKey,
    setRequestTimeout: (request, seconds) => server.timeout(incomingOf.get(request) ?? request, seconds),
  };

  /** Requests of HTTP/1.0 that name no host, by what stands for them: Bun knows their connections by themselves alone. */
  const incomingOf = new WeakMap<Request, Request>();
  function withAddress(incoming: Request): Request {
    if (!incoming.url.startsWith("/")) return incoming;
    const request = new Request(baseUrl + incoming.url, incoming);
    incomingOf.set(request, incoming);
    return request;
  }

  const app = createApp(services);
  const recordEvent = recordRoute(services);
  const setup = await waiting(() => openSetup(control));
  // From here on the server is ready; nothing is awaited until whoever started it can stop it.
  server.reload({
    routes: {
      "/api/events": {
        POST: (request, server) =>
          recordEvent(request, server).catch((error) => answerError(error, failures)),
      },
    },
    async fetch(incoming, server) {
      checkHost(incoming);
      const request = withAddress(incoming);
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/api/auth/")) {
        request.headers.set(clientAddressHeader, server.requestIP(incoming)?.address ?? "");
      }
      const response = await app.fetch(request);
      // Live streams are quiet for longer than a request may be; their heartbeats find the dead ones.
      if (response.headers.get("content-type") === "text/event-stream") server.timeout(incoming, 0);
      return response;
    },
    error: (error) => answerError(error, failures),
  });
  sender.wake();
  worker.wake();
  return {
    store,
    address: `http://${config.host}:${server.port}`,
    baseUrl,
    setupLink: setup && `${baseUrl}/setup?token=${setup.token}`,
    async stop() {
      readiness.stop();
      await Bun.sleep(config.shutdownDelaySeconds * 1_000);
      streamAuthorizer.close();
      streams.closeAll();
      await Promise.race([server.stop(), Bun.sleep(drainTimeoutMs)]);
      await server.stop(true);
      // The database may be what is stopped first; the token then goes by its age.
      await setup?.close().catch(onError);
      await worker.close();
      await sender.close();
      await liveNotifications.close();
      await closeTransports();
      await keys.close();
      await store.close();
      failures.close();
    },
  };
}

/** Does something, as often as it takes for the storage to answer. */
async function untilAvailable<Result>(
  work: () => Promise<Result>,
  onWaiting: (why: string) => void,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "storage-unavailable") throw error;
      onWaiting((error.options.log as Error | undefined)?.message ?? error.options.detail);
      await Bun.sleep(waitMs);
    }
  }
}

/** Until the storage is there: the process is up, and everything else is to be asked again. */
function answerAtStart(request: Request): Response {
  if (URL.parse(request.url, "http://localhost")?.pathname === "/healthz") return Response.json({ ok: true });
  const detail = "Tidings is starting. Try again in a moment.";
  return problem("storage-unavailable", { detail, retryAfterSeconds: 2 }).toResponse();
}

/** Runs the service as a process: says where it is, and drains at SIGTERM and SIGINT. */
export async function run(): Promise<void> {
  let running: Running | null = null;
  let isStopping = false;
  try {
    const config = readConfig();
    const log = createLog(config.logLevel);
    process.on("uncaughtException", (error) => {
      log.fatal({ err: error }, "uncaught exception; stopping");
      process.exit(1);
    });
    process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled promise rejection"));
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, async () => {
        if (isStopping) return;
        isStopping = true;
        process.exit(running ? await stopped(running, signal, log) : 0);
      });
    }
    running = await serve(config, { log });
  } catch (error) {
    console.error(
      error instanceof ConfigError ? error.message : `Tidings can't start: ${(error as Error).message}`,
    );
    process.exit(1);
  }
  announce(running);
}

/** Stops in good order, and gives the process's exit code. */
async function stopped(running: Running, signal: string, log: Logger): Promise<number> {
  const startMs = performance.now();
  log.info({ signal }, "stopping: finishing requests in progress");
  try {
    await running.stop();
  } catch (error) {
    log.error({ err: error }, "shutdown failed");
    return 1;
  }
  log.info({ ms: Math.round(performance.now() - startMs) }, "stopped");
  return 0;
}

/** Says where the server is, whatever the log leaves out: for people on a terminal, else as lines of the log. */
function announce({ address, baseUrl, setupLink }: Running): void {
  const listening = `Tidings ${version} is listening on ${address}`;
  if (stdout.isTTY) {
    const next = setupLink
      ? `\n  Open this link to create your account:\n\n  ${setupLink}\n`
      : `Dashboard: ${baseUrl}`;
    stdout.write(`${listening}\n${next}\n`);
    return;
  }
  const log = createLog("info");
  if (setupLink) log.info({ setupLink }, "open setupLink to create your account");
  log.info({ version, address, dashboard: baseUrl }, listening);
}

if (import.meta.main) await run();
