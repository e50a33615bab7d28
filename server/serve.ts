import type { Logger } from "pino";
import { createApp } from "./app.ts";
import { clientAddressHeader } from "./auth/auth-call.ts";
import { checkUrl } from "./auth/key-secret.ts";
import { type PasswordHashing, scrypt } from "./auth/passwords.ts";
import type { SignInTiers } from "./auth/sign-in-limits.ts";
import { baseUrlOf, type Config } from "./config/config.ts";
import { limits } from "./core/limits.ts";
import { withoutAllowedKey } from "./drop-in/keys-in-urls.ts";
import { checkHost } from "./http/check-host.ts";
import { Connections } from "./http/connections.ts";
import { errorResponse, FailureLog } from "./http/failures.ts";
import { listen, mainAddress } from "./http/listen.ts";
import { strictTransportSecurity } from "./http/security-headers.ts";
import { startingResponse } from "./http/starting-response.ts";
import type { Recorder } from "./ingest/record.ts";
import { recordRoute } from "./ingest/record-route.ts";
import { RequestObserver } from "./metrics/request-observer.ts";
import { serveMetrics } from "./metrics/serve-metrics.ts";
import { createLog } from "./process/log.ts";
import { MigrationReport } from "./process/migration-report.ts";
import { openServices } from "./process/open-services.ts";
import type { OpenStore } from "./process/open-store.ts";
import { notifySystemd } from "./process/systemd.ts";
import type { Store } from "./storage/store.ts";

/** How long requests in progress may take to finish after SIGTERM. */
const drainTimeoutMs = 10_000;
/** How much longer systemd lets a start take at each report of a migration, in microseconds: sd_notify(3). */
const startExtensionUs = 60_000_000;
/** Bun's own limit is off: NDJSON has no end, and `http/body.ts` limits all other bodies as it reads them. */
const bodyBytesMax = Number.MAX_SAFE_INTEGER;

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
export type ServeOptions = {
  passwords?: PasswordHashing;
  /** The machine's clock, which dates events. */
  now?: () => number;
  signInTiers?: SignInTiers;
  log?: Logger;
  /** Answers requests, but starts nothing by itself: no backups, and no jobs and deliveries that wait. */
  isPassive?: boolean;
  /** The directories with the migrations, if they are not the program's own. */
  migrations?: readonly string[] | undefined;
  openStore?: OpenStore | undefined;
  /** Called when it answers requests, before the database is open. */
  onListening?: (address: string) => void;
};

/** Listens, opens the services, and hands requests to them. */
export async function serve(
  config: Config,
  {
    passwords = scrypt,
    now = Date.now,
    signInTiers,
    log: givenLog,
    isPassive = false,
    migrations,
    openStore,
    onListening = () => {},
  }: ServeOptions = {},
): Promise<Running> {
  const log = givenLog ?? (await createLog(config.logLevel, config.logFormat));
  const failures = new FailureLog(log);
  const migration = new MigrationReport((text, { step, number, of }) => {
    log.info({ step, number, of }, text);
    notifySystemd(`EXTEND_TIMEOUT_USEC=${startExtensionUs}\nSTATUS=${text}`);
  });
  const server = listen(mainAddress(config), () =>
    Bun.serve({
      port: config.port,
      hostname: config.host,
      // `reload` below does not change this.
      maxRequestBodySize: bodyBytesMax,
      idleTimeout: limits.requestSeconds,
      fetch: (request) => startingResponse(request, migration.sentence),
    }),
  );
  const address = `http://${config.host}:${server.port}`;
  onListening(address);
  const baseUrl = baseUrlOf({ url: config.url, port: server.port! });
  const connections = new Connections(server, { baseUrl, trustedProxies: config.trustedProxies });
  const open = await openServices({
    config,
    baseUrl,
    connections,
    log,
    failures,
    migration,
    passwords,
    now,
    signInTiers,
    isPassive,
    migrations,
    openStore,
  }).catch(async (error) => {
    await server.stop(true);
    throw error;
  });
  const { services, setup } = open;
  const { store, recorder, readiness, streams, streamAuthorizer, metrics } = services;

  const recordEvent = recordRoute(services);
  // A tool's call has no connection of its own whose timeout could change.
  const app = createApp(services, (request) => recordEvent(request, { timeout() {} }));
  const observer = new RequestObserver({ metrics, log, failures, slowMs: config.slowRequestMs, store });
  const isSecure = baseUrl.startsWith("https:");
  // From here on the server is ready. Nothing is awaited before the caller can stop it.
  server.reload({
    routes: {
      "/api/events": {
        async POST(request, server) {
          checkHost(request);
          // The one before on this connection left a longer timeout.
          server.timeout(request, limits.requestSeconds);
          const response = await observer.observe(request, "/api/events", () => recordEvent(request, server));
          server.timeout(request, secondsAfter(request, response));
          return response;
        },
      },
    },
    async fetch(incoming, server) {
      checkHost(incoming);
      server.timeout(incoming, limits.requestSeconds);
      checkUrl(withoutAllowedKey(incoming.url));
      const request = connections.withFullUrl(incoming);
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/api/auth/")) {
        request.headers.set(clientAddressHeader, connections.addressOf(request) ?? "");
      }
      const response = await observer.observe(request, null, async () => app.fetch(request));
      if (isSecure || connections.cameOverTls(request))
        response.headers.set("strict-transport-security", strictTransportSecurity);
      // Live streams may be silent for longer than the request timeout. Their heartbeats detect dead connections.
      if (response.headers.get("content-type") === "text/event-stream") server.timeout(incoming, 0);
      // A client may take as long as that to read, so not after listings and files.
      else if (incoming.method !== "GET") server.timeout(incoming, secondsAfter(incoming, response));
      return response;
    },
    error: (error) => errorResponse(error, failures),
  });
  const metricsServer = metrics && config.metricsAddress && serveMetrics(metrics, config.metricsAddress);
  if (!isPassive) open.start();
  return {
    store,
    recorder,
    address,
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
      await open.close();
      failures.close();
    },
  };
}

/** How long a connection may be idle after a response: the rest of a body that was not read must arrive in time. */
function secondsAfter({ headers, bodyUsed }: Request, { status }: Response): number {
  const hasBody = headers.has("transfer-encoding") || Number(headers.get("content-length")) > 0;
  const isCut = status === 408 || status === 413;
  return hasBody && (!bodyUsed || isCut) ? limits.requestSeconds : limits.keepAliveSeconds;
}
