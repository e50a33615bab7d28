import { stdout } from "node:process";
import type { Logger } from "pino";
import { createApp } from "./app.ts";
import { AccountEmails } from "./auth/account-emails.ts";
import { ApiKeyCache } from "./auth/api-key-cache.ts";
import { createAuth } from "./auth/auth.ts";
import { clientAddressHeader } from "./auth/auth-call.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { checkUrl } from "./auth/key-secret.ts";
import { oneAtATime, type PasswordHashing, scrypt } from "./auth/passwords.ts";
import { openSetup } from "./auth/setup.ts";
import { SignInLimits, type SignInTiers } from "./auth/sign-in-limits.ts";
import { BackgroundWorker } from "./background/worker.ts";
import { BackupSchedule } from "./backup/schedule.ts";
import { deleteChannel } from "./channels/delete-channel.ts";
import { ProjectChannels } from "./channels/project-channels.ts";
import { baseUrlOf, type Config, ConfigError, inspectConfig, readConfig, version } from "./config.ts";
import { withoutWebhookKey } from "./drop-in/slack/routes.ts";
import { ArrivalClock } from "./event/id.ts";
import { LiveStreams } from "./events/live.ts";
import { StreamAuthorizer } from "./events/stream-authorizer.ts";
import { errorResponse, FailureLog } from "./failures.ts";
import { BodySemaphore } from "./http/body.ts";
import { clientAddresses } from "./http/client-address.ts";
import { strictTransportSecurity } from "./http/security-headers.ts";
import { DailyQuota } from "./ingest/daily-quota.ts";
import { KeyRateLimits } from "./ingest/key-limits.ts";
import { createRecorder, type Recorder } from "./ingest/record.ts";
import { recordRoute } from "./ingest/record-route.ts";
import { RejectedEvents } from "./ingest/rejected.ts";
import { limits } from "./limits.ts";
import { createLog } from "./log.ts";
import { CommitMeter } from "./metrics/commit-meter.ts";
import { openMetrics, serveMetrics } from "./metrics/serve-metrics.ts";
import { MigrationReport } from "./migration-report.ts";
import { DeliveryWorker } from "./notifications/delivery-worker.ts";
import { DiskWatch } from "./notifications/disk-watch.ts";
import { FanOut } from "./notifications/fan-out.ts";
import { LiveNotifications } from "./notifications/live-notifications.ts";
import { ProjectRules } from "./notifications/project-rules.ts";
import { RecentEvents } from "./notifications/recent-events.ts";
import { ServerOutages } from "./notifications/server-outages.ts";
import { createTransports } from "./notifications/transports.ts";
import { UnsubscribeLinks } from "./notifications/unsubscribe.ts";
import { fewOpenFiles } from "./open-files.ts";
import { openStore } from "./open-store.ts";
import { ProblemError, problem } from "./problems.ts";
import { deleteProject } from "./projects/delete-project.ts";
import { Readiness } from "./readiness.ts";
import { RequestObserver } from "./request-observer.ts";
import type { Services } from "./services.ts";
import { startingResponse } from "./starting-response.ts";
import { generateSecretKey } from "./storage/secret-box.ts";
import { openSecretBox } from "./storage/secret-key.ts";
import { getOrCreateSecret } from "./storage/settings.ts";
import type { Follower, Store, StoreWatch } from "./storage/store.ts";
import { notifySystemd, startWatchdog } from "./systemd.ts";
import { eraseTraces, eraseUser } from "./users/erase-user.ts";
import { createUserActivity } from "./users/user-activity.ts";
import { WebhookReceiver } from "./webhooks/receive.ts";

/** Delay between attempts while the storage is unavailable at startup. */
const retryDelayMs = 500;
/** How long requests in progress may take to finish after SIGTERM. */
const drainTimeoutMs = 10_000;
/** How much longer systemd lets a start take at each report of a migration, in microseconds: sd_notify(3). */
const startExtensionUs = 60_000_000;
/** Bun's own limit is off: NDJSON has no end, and `http/body.ts` limits all other bodies as it reads them. */
const bodyBytesMax = Number.MAX_SAFE_INTEGER;
/** The origin of nearly all requests: the last one that was valid. */
let lastValidOrigin = "http://localhost/";

export type Running = {
  store: Store;
  recorder: Recorder;
  /** The address it listens on, such as `http://127.0.0.1:4242`. */
  address: string;
  baseUrl: string;
  /** The address of metrics that have their own. */
  metricsUrl: string | null;
  /** The setup link, or null if an account exists. */
  setupLink: string | null;
  /** Answers a request of this process, without a connection. */
  fetch: (request: Request) => Promise<Response>;
  /** Drains and closes. Accepted events are stored; later requests are rejected. */
  stop: () => Promise<void>;
};

/** Dependencies that tests replace to control time or save time. */
type ServeOptions = {
  passwords?: PasswordHashing;
  /** The machine's clock, which dates events. */
  now?: () => number;
  signInTiers?: SignInTiers;
  log?: Logger;
  /** Answers requests, but starts nothing by itself: no backups, and no jobs and deliveries that wait. */
  isPassive?: boolean;
  /** The directory with the migrations, if they are not the program's own. */
  migrations?: string | undefined;
  /** Called when it answers requests, before the database is open. */
  onListening?: (address: string) => void;
};

/** Wires up the service and listens. */
export async function serve(
  config: Config,
  {
    passwords: hashing = scrypt,
    now = Date.now,
    signInTiers,
    log: givenLog,
    isPassive = false,
    migrations,
    onListening = () => {},
  }: ServeOptions = {},
): Promise<Running> {
  const log = givenLog ?? (await createLog(config.logLevel, config.logFormat));
  const failures = new FailureLog(log);
  const onError = (error: unknown) => failures.taskFailed(error);
  const onWaiting = (why: string) => {
    migration.hideBar();
    log.warn(`waiting for the database: ${why}`);
  };
  const onInfo = (message: string, fields: Record<string, unknown>) => {
    migration.hideBar();
    log.info(fields, message);
  };
  const migration = new MigrationReport((text, { step, number, of }) => {
    log.info({ step, number, of }, text);
    notifySystemd(`EXTEND_TIMEOUT_USEC=${startExtensionUs}\nSTATUS=${text}`);
  });
  const server = Bun.serve({
    port: config.port,
    hostname: config.host,
    // `reload` below does not change this.
    maxRequestBodySize: bodyBytesMax,
    idleTimeout: limits.requestSeconds,
    fetch: (request) => startingResponse(request, migration.sentence),
  });
  onListening(`http://${config.host}:${server.port}`);
  /** Resolves when the owner can be told. */
  const outagesOpen = Promise.withResolvers<ServerOutages>();
  const watch: StoreWatch = {
    onFatal: (error) => {
      log.fatal({ err: error }, "the storage failed; stopping");
      process.exit(1);
    },
    onDamage: (error) => {
      log.fatal(error.message);
      void outagesOpen.promise
        .then((outages) => outages.begin("damage", "The database is damaged", error.message))
        .catch(onError);
    },
    onError,
    onInfo,
    onMigrating: migration.observe,
    onWarning: (text) => log.warn(text),
    onWaiting,
    connectTimeoutMs: Number.POSITIVE_INFINITY,
    // A command that answers its own requests may run beside a server of an older version.
    mayUpgrade: !isPassive,
  };
  const store = await openStore(config, watch, migrations).catch(async (error) => {
    await server.stop(true);
    throw error;
  });
  const { control } = store;

  const readiness = new Readiness(store.events);
  failures.watch(readiness);

  // The storage can become unavailable during startup, so each step is retried.
  const retrying = <Result>(operation: () => Promise<Result>) => untilAvailable(operation, onWaiting);
  const clock = new ArrivalClock(await retrying(() => store.events.lastArrival()), {
    now,
    warn: (warning) => log.warn(warning),
  });
  const streams = new LiveStreams(store.events, clock, onError);
  const keys = new ApiKeyCache(control, (request) => services.addressOf(request), onError);
  const streamAuthorizer = new StreamAuthorizer(control, streams, onError);
  const secrets = await retrying(() => openSecretBox(config, control)).catch(async (error) => {
    await store.close();
    await server.stop(true);
    throw error;
  });
  const authSecret = await retrying(() =>
    getOrCreateSecret(control, secrets, "authSecret", generateSecretKey),
  );

  const passwords = oneAtATime(hashing);
  const baseUrl = baseUrlOf({ url: config.url, port: server.port! });

  const isSecure = baseUrl.startsWith("https:");
  const { rateLimiter } = store;
  const auth = createAuth(control, { secret: authSecret, baseUrl, config, passwords, rateLimiter, log });
  const signInLimits = new SignInLimits({
    rateLimiter,
    secret: authSecret,
    isSecure,
    tiers: signInTiers,
  });
  const {
    transports,
    mailer,
    vapidPublicKey,
    close: closeTransports,
  } = await retrying(() => createTransports(config, control, secrets, baseUrl));
  const emails = mailer && new AccountEmails(mailer, baseUrl, onError);
  const recentEvents = new RecentEvents(store.events);
  const unsubscribeSecret = await retrying(() =>
    getOrCreateSecret(control, secrets, "unsubscribeSecret", generateSecretKey),
  );
  const unsubscribeLinks = new UnsubscribeLinks(unsubscribeSecret, baseUrl);
  const deliveryWorker = new DeliveryWorker({
    store,
    events: recentEvents,
    transports,
    secrets,
    policy: { allowPrivate: config.allowPrivateAddresses },
    baseUrl,
    unsubscribeLinks,
    onError,
  });
  const liveNotifications = new LiveNotifications(control, recentEvents, streams, onError);
  await retrying(() => liveNotifications.start());
  const fanOut = new FanOut({
    store,
    events: recentEvents,
    onError,
    onMade() {
      deliveryWorker.wake();
      liveNotifications.wake();
    },
  });
  const rejected = new RejectedEvents({ events: store.events, control, config, onError });
  const projectChannels = new ProjectChannels(control);
  const projectRules = new ProjectRules(control);
  const quota = new DailyQuota(control, { now, onError });
  const recorder = createRecorder({
    events: store.events,
    channels: projectChannels,
    rules: projectRules,
    quota,
    clock,
  });
  const largeBodies = new BodySemaphore();
  const webhookReceiver = new WebhookReceiver({
    store,
    secrets,
    recorder,
    rejected,
    largeBodies,
    failures,
    addressOf: (request) => services.addressOf(request),
  });
  const follower: Follower = {
    projects: () => streams.projects(),
    arrived(event, notifies) {
      streams.publish(event);
      if (!notifies) return;
      recentEvents.remember(event);
      fanOut.wake();
    },
    reached(stamp) {
      clock.observe(stamp);
      streams.reached(stamp);
    },
    skipped: (stamp) => streams.skipped(stamp),
    deleted: (projectId, deleted) => streams.deleted(projectId, deleted),
  };
  await retrying(() => store.events.follow(follower));
  const worker = new BackgroundWorker({
    store,
    jobs: { "erase-user": eraseUser, "delete-channel": deleteChannel, "delete-project": deleteProject },
    eraseTraces,
    userActivity: createUserActivity(store),
    onRemoved: (ids) => recentEvents.drop(ids),
    deliveryDays: config.deliveryDays,
    auditDays: config.auditDays,
    onError,
    onInfo,
  });
  const isMeasured = config.metricsToken !== null || config.metricsAddress !== null;
  const metrics = isMeasured ? await openMetrics({ store, streams, config }) : null;
  const commits = new CommitMeter();
  store.events.observeCommits((stored, ms, syncMs) => {
    commits.observe(stored, ms);
    metrics?.observeCommit(stored, ms, syncMs);
  });
  const outages = new ServerOutages({
    control,
    hasEmail: mailer !== null,
    now,
    onMade() {
      deliveryWorker.wake();
      liveNotifications.wake();
    },
  });
  outagesOpen.resolve(outages);
  const backups =
    config.backupTo === null
      ? null
      : new BackupSchedule({
          control,
          config,
          onError,
          now,
          onFailed: (why) =>
            outages.begin(
              "backup",
              "The backup failed",
              `${why.replace(/\.?$/, ".")} It is tried again every hour.`,
            ),
          onWorking: ({ at, file }) =>
            outages.end("backup", "Backups work again", `The last one is ${file}, of ${at}.`),
        });
  // The disk of a database server can't be seen from here.
  const isWatched = !isPassive && config.databaseUrl === null;
  const diskWatch = isWatched ? new DiskWatch({ config, outages, onError }) : null;
  const clients = clientAddresses(config.trustedProxies);
  const peerOf = (request: Request) => server.requestIP(originalOf.get(request) ?? request)?.address ?? null;
  const authorizer = new Authorizer({ control, auth, keys, baseUrl });
  const services: Services = {
    config,
    baseUrl,
    failures,
    readiness,
    store,
    auth,
    passwords,
    signInLimits,
    emails,
    authorizer,
    keys,
    streamAuthorizer,
    streams,
    recorder,
    projectChannels,
    rejected,
    largeBodies,
    rateLimits: new KeyRateLimits(store),
    webhookReceiver,
    worker,
    projectRules,
    fanOut,
    recentEvents,
    transports,
    deliveryWorker,
    unsubscribeLinks,
    mailer,
    vapidPublicKey,
    secrets,
    metrics,
    commits,
    backups,
    addressOf: (request) => clients.addressOf(peerOf(request), request.headers),
    setRequestTimeout: (request, seconds) => server.timeout(originalOf.get(request) ?? request, seconds),
  };

  /** The original of each HTTP/1.0 request without a host: Bun finds a connection only by the original request. */
  const originalOf = new WeakMap<Request, Request>();
  function withAddress(incoming: Request): Request {
    if (!incoming.url.startsWith("/")) return incoming;
    const request = new Request(baseUrl + incoming.url, incoming);
    originalOf.set(request, incoming);
    return request;
  }

  const recordEvent = recordRoute(services);
  // A tool's call has no connection of its own whose timeout could change.
  const app = createApp(services, (request) => recordEvent(request, { timeout() {} }));
  const observer = new RequestObserver({ metrics, log, failures, slowMs: config.slowRequestMs, store });
  const setup = isPassive ? null : await retrying(() => openSetup(control));
  // From here on the server is ready. Nothing is awaited before the caller can stop it.
  server.reload({
    routes: {
      "/api/events": {
        POST(request, server) {
          checkHost(request);
          return observer.observe(request, "/api/events", () => recordEvent(request, server));
        },
      },
    },
    async fetch(incoming, server) {
      checkHost(incoming);
      checkUrl(withoutWebhookKey(incoming.url));
      const request = withAddress(incoming);
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/api/auth/")) {
        request.headers.set(clientAddressHeader, services.addressOf(request) ?? "");
      }
      const response = await observer.observe(request, null, async () => app.fetch(request));
      if (isSecure || clients.cameOverTls(peerOf(request), request.headers))
        response.headers.set("strict-transport-security", strictTransportSecurity);
      // Live streams may be silent for longer than the request timeout. Their heartbeats detect dead connections.
      if (response.headers.get("content-type") === "text/event-stream") server.timeout(incoming, 0);
      return response;
    },
    error: (error) => errorResponse(error, failures),
  });
  const metricsServer = metrics && config.metricsAddress && serveMetrics(metrics, config.metricsAddress);
  if (!isPassive) {
    fanOut.wake();
    deliveryWorker.wake();
    worker.wake();
    void backups?.look();
  }
  return {
    store,
    recorder,
    address: `http://${config.host}:${server.port}`,
    baseUrl,
    metricsUrl: metricsServer && new URL("/metrics", metricsServer.url).href,
    setupLink: setup && `${baseUrl}/setup?token=${setup.token}`,
    async fetch(request) {
      const isRecording = request.method === "POST" && new URL(request.url).pathname === "/api/events";
      try {
        return await (isRecording ? recordEvent(request, { timeout() {} }) : app.fetch(request));
      } catch (error) {
        return errorResponse(error, failures, request);
      }
    },
    async stop() {
      readiness.stop();
      await Bun.sleep(config.shutdownDelaySeconds * 1_000);
      streamAuthorizer.close();
      streams.closeAll();
      await metricsServer?.stop(true);
      await Promise.race([server.stop(), Bun.sleep(drainTimeoutMs)]);
      await server.stop(true);
      // The database may stop first. The token then expires by age.
      await setup?.close().catch(onError);
      backups?.close();
      diskWatch?.close();
      await worker.close();
      await fanOut.close();
      await deliveryWorker.close();
      await liveNotifications.close();
      await closeTransports();
      await keys.close();
      await quota.close();
      await store.close();
      failures.close();
    },
  };
}

/**
 * Checks that a request's `Host` is valid, so that its URL can be parsed (RFC 9112, section 3.2). HTTP/1.0 requests
 * need none; their URL is only a path. Throws `host-invalid`.
 */
function checkHost(request: Request): void {
  const { url } = request;
  if (url.startsWith(lastValidOrigin)) return;
  if (URL.canParse(url)) {
    lastValidOrigin = url.slice(0, url.indexOf("/", url.indexOf("//") + 2) + 1) || lastValidOrigin;
  } else if (request.headers.get("host") !== null) {
    throw problem("host-invalid", {
      detail: "The Host header must be a host name, such as tidings.example.com.",
    });
  }
}

/** Retries until the storage responds. */
async function untilAvailable<Result>(
  operation: () => Promise<Result>,
  onWaiting: (why: string) => void,
): Promise<Result> {
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "storage-unavailable") throw error;
      onWaiting((error.options.log as Error | undefined)?.message ?? error.options.detail);
      await Bun.sleep(retryDelayMs);
    }
  }
}

/** Runs the service as a process: prints its address, and drains on SIGTERM and SIGINT. */
export async function run(): Promise<void> {
  let running: Running | null = null;
  let isStopping = false;
  try {
    const config = readConfig();
    const log = await createLog(config.logLevel, config.logFormat);
    process.on("SIGHUP", () => changeLevel(log));
    process.on("uncaughtException", (error) => {
      log.fatal({ err: error }, "uncaught exception; stopping");
      process.exit(1);
    });
    process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled promise rejection"));
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, async () => {
        if (isStopping) return;
        isStopping = true;
        notifySystemd("STOPPING=1");
        process.exit(running ? await shutDown(running, signal, log) : 0);
      });
    }
    const fewFiles = fewOpenFiles();
    if (fewFiles) log.warn(fewFiles);
    running = await serve(config, { log });
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : `Tidings can't start: ${causeOf(error)}`);
    process.exit(1);
  }
  await announce(running);
  notifySystemd("READY=1");
  startWatchdog();
  // Frees the code that only the start needed, which is three megabytes.
  Bun.shrink();
}

/** What an operator has to know: a problem's own message is written for clients. */
function causeOf(error: unknown): string {
  if (!(error instanceof ProblemError)) return (error as Error).message;
  return (error.options.log as { message?: string } | undefined)?.message ?? error.options.detail;
}

/** Reads the log level again, which only a settings file can have changed. */
function changeLevel(log: Logger): void {
  const { config, mistakes } = inspectConfig();
  if (config) {
    log.level = config.logLevel;
    log.info({ logLevel: config.logLevel }, "read the log level again");
  } else log.error({ mistakes }, "the settings have mistakes; the log level stays");
}

/** Shuts down and returns the process's exit code. */
async function shutDown(running: Running, signal: string, log: Logger): Promise<number> {
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

/** Prints the server's address whatever the log level: as text on a terminal, otherwise as log lines. */
async function announce({ address, baseUrl, metricsUrl, setupLink }: Running): Promise<void> {
  const listening = `Tidings ${version} is listening on ${address}`;
  if (stdout.isTTY) {
    const nextStep = setupLink
      ? `\n  Open this link to create your account:\n\n  ${setupLink}\n`
      : `Dashboard: ${baseUrl}`;
    stdout.write(`${listening}\n${nextStep}\n`);
    return;
  }
  const log = await createLog("info", inspectConfig().config?.logFormat);
  if (setupLink) log.info({ setupLink }, "open setupLink to create your account");
  log.info({ version, address, dashboard: baseUrl, ...(metricsUrl && { metrics: metricsUrl }) }, listening);
}

if (import.meta.main) await run();
