import { stdout } from "node:process";
import type { Logger } from "pino";
import { clientAddressHeader, createAuth } from "./accounts/auth.ts";
import { type PasswordHashing, scrypt } from "./accounts/passwords.ts";
import { openSetup } from "./accounts/setup.ts";
import { createApp } from "./app.ts";
import { ProjectChannels } from "./channels/project-channels.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { ArrivalClock } from "./events/id.ts";
import { LiveStreams } from "./events/live.ts";
import { createRecorder } from "./events/record.ts";
import { recordRoute } from "./events/record-route.ts";
import { RejectedEvents } from "./events/rejected.ts";
import { FailureLog } from "./failure-log.ts";
import type { House } from "./house.ts";
import { Upkeep } from "./jobs/upkeep.ts";
import { KeyRing } from "./keys/key-ring.ts";
import { createLog } from "./log.ts";
import { createChannels } from "./notifications/channels.ts";
import { LiveNotifications } from "./notifications/live-notifications.ts";
import { Sender } from "./notifications/sender.ts";
import { Gate } from "./projects/access.ts";
import { StreamWatch } from "./projects/stream-watch.ts";
import { Readiness } from "./readiness.ts";
import { openStore } from "./storage/open.ts";
import { settled } from "./storage/settings.ts";
import type { Follower, Store } from "./storage/store.ts";
import { version } from "./version.ts";
import { answerError } from "./wire/answer-error.ts";
import { checkHost } from "./wire/host.ts";
import { limits } from "./wire/limits.ts";
import { ProblemError, problem } from "./wire/problems.ts";

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
    patienceMs: Number.POSITIVE_INFINITY,
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
  const live = new LiveStreams(store.events, clock, onError);
  const keys = new KeyRing(control, onError);
  const watch = new StreamWatch(control, live, onError);
  const authSecret = await waiting(() =>
    settled(control, "authSecret", () =>
      Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url"),
    ),
  );

  const baseUrl = config.url ?? `http://localhost:${server.port}`;

  const auth = createAuth(control, { secret: authSecret, baseUrl, passwords, log });
  const {
    channels,
    vapidPublicKey,
    close: closeChannels,
  } = await waiting(() => createChannels(config, control, baseUrl));
  const sender = new Sender({ store, channels, onError });
  const liveNotifications = new LiveNotifications(control, live, onError);
  const rejected = new RejectedEvents({ events: store.events, control, config, onError });
  const projectChannels = new ProjectChannels(control);
  const recorder = createRecorder({ events: store.events, channels: projectChannels, clock });
  const follower: Follower = {
    projects: () => live.projects(),
    arrived(event, notified) {
      live.publish(event);
      if (!notified) return;
      sender.wake(event);
      liveNotifications.add(event);
    },
    reached(moment) {
      clock.observe(moment);
      live.reached(moment);
    },
    skipped: (moment) => live.skipped(moment),
    deleted: (projectId, deleted) => live.deleted(projectId, deleted),
  };
  await waiting(() => store.events.follow(follower));
  const upkeep = new Upkeep({ store, onRemoved: (ids) => sender.forget(ids), onError, onInfo });
  const gate = new Gate({ control, auth, keys, baseUrl });
  const house: House = {
    config,
    baseUrl,
    failures,
    readiness,
    store,
    auth,
    passwords,
    gate,
    keys,
    watch,
    live,
    recorder,
    projectChannels,
    rejected,
    upkeep,
    channels,
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

  const app = createApp(house);
  const recordEvent = recordRoute(house);
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
  upkeep.wake();
  return {
    store,
    address: `http://${config.host}:${server.port}`,
    baseUrl,
    setupLink: setup && `${baseUrl}/setup?token=${setup.token}`,
    async stop() {
      readiness.stop();
      await Bun.sleep(config.shutdownDelaySeconds * 1_000);
      watch.close();
      live.closeAll();
      await Promise.race([server.stop(), Bun.sleep(drainTimeoutMs)]);
      await server.stop(true);
      // The database may be what is stopped first; the token then goes by its age.
      await setup?.close().catch(onError);
      await upkeep.close();
      await sender.close();
      await liveNotifications.close();
      await closeChannels();
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
