import type { Logger } from "pino";
import { AccountEmails } from "../auth/account-emails.ts";
import { ApiKeyCache } from "../auth/api-key-cache.ts";
import { createAuth } from "../auth/auth.ts";
import { Authorizer } from "../auth/authorizer.ts";
import { inTurns, type PasswordHashing } from "../auth/passwords.ts";
import { Reauthentication } from "../auth/reauthenticate.ts";
import { type OpenSetup, openSetup } from "../auth/setup.ts";
import { SignInLimits, type SignInTiers } from "../auth/sign-in-limits.ts";
import { createRequestVerification } from "../auth/verify-email.ts";
import { BackgroundWorker } from "../background/worker.ts";
import { openBackups } from "../backup/open-backups.ts";
import { deleteChannel } from "../channels/delete-channel.ts";
import { ProjectChannels } from "../channels/project-channels.ts";
import { CohortWorker } from "../cohorts/cohort-worker.ts";
import type { Config } from "../config/config.ts";
import { ProblemError } from "../core/problems.ts";
import { ArrivalClock } from "../event/id.ts";
import { LiveStreams } from "../events/live.ts";
import { StreamAuthorizer } from "../events/stream-authorizer.ts";
import { HeartbeatWorker } from "../heartbeats/heartbeat-worker.ts";
import { PingReceiver } from "../heartbeats/receive-ping.ts";
import { BodySemaphore } from "../http/body-semaphore.ts";
import type { Connections } from "../http/connections.ts";
import type { FailureLog } from "../http/failures.ts";
import { DailyQuota } from "../ingest/daily-quota.ts";
import { KeyRateLimits } from "../ingest/key-limits.ts";
import { createRecorder } from "../ingest/record.ts";
import { RejectedEvents } from "../ingest/rejected.ts";
import { CommitMeter } from "../metrics/commit-meter.ts";
import { openMetrics } from "../metrics/serve-metrics.ts";
import { openNotifications } from "../notifications/open-notifications.ts";
import type { ServerOutages } from "../notifications/server-outages.ts";
import { deleteProject } from "../projects/delete-project.ts";
import { PictureLinks } from "../reports/report-links.ts";
import { createReportRenderer } from "../reports/report-renderer.ts";
import { ReportWorker } from "../reports/report-worker.ts";
import { WatchedEventsCache } from "../rules/watched-events.ts";
import { DiskGrowth } from "../storage/disk-growth.ts";
import { withPeople } from "../storage/people.ts";
import { generateSecretKey } from "../storage/secret-box.ts";
import { boxFor, openSecretBox } from "../storage/secret-key.ts";
import { getOrCreateSecret } from "../storage/settings.ts";
import type { Store, StoreWatch } from "../storage/store.ts";
import { eraseTraces, eraseUser } from "../users/erase-user.ts";
import { repairTimes } from "../users/repair-times.ts";
import { UserActivity } from "../users/user-activity.ts";
import { WebhookReceiver } from "../webhooks/receive.ts";
import { countryLookup } from "../website/countries.ts";
import { WebsiteReceiver } from "../website/receive.ts";
import { WebsiteBoards } from "../website/website-boards.ts";
import { WebsiteWorker } from "../website/website-worker.ts";
import type { MigrationReport } from "./migration-report.ts";
import { type OpenStore, openStore } from "./open-store.ts";
import { Readiness } from "./readiness.ts";
import type { Services } from "./services.ts";

/** Delay between attempts while the storage is unavailable at startup. */
const retryDelayMs = 500;

type Deps = {
  config: Config;
  baseUrl: string;
  connections: Connections;
  log: Logger;
  failures: FailureLog;
  migration: MigrationReport;
  passwords: PasswordHashing;
  now: () => number;
  signInTiers: SignInTiers | undefined;
  /** Starts nothing by itself. */
  isPassive: boolean;
  /** The directories with the migrations, if they are not the program's own. */
  migrations: readonly string[] | undefined;
  openStore?: OpenStore | undefined;
};

/** Whether damage of the database was found since the start. */
type DamageFound = { isFound: boolean };

type OpenServices = {
  services: Services;
  /** Null if an account exists. */
  setup: OpenSetup | null;
  /** Takes up jobs and deliveries that wait, and backups that are due. */
  start: () => void;
  /** Ends what runs, and closes the store. */
  close: () => Promise<void>;
};

/**
 * Opens the store and wires up all services. Waits while the storage is unavailable.
 *
 * Invariant: a node keeps nothing that another one could not continue without. Checked by `server/e2e/nodes.test.ts`.
 */
export async function openServices(deps: Deps): Promise<OpenServices> {
  /** Resolves when the owner can be told. */
  const outagesOpen = Promise.withResolvers<ServerOutages>();
  const damage = { isFound: false };
  const open = deps.openStore ?? openStore;
  const store = await open(deps.config, watchStore(deps, outagesOpen.promise, damage), deps.migrations);
  try {
    const wired = await wireUp(store, deps, damage);
    outagesOpen.resolve(wired.outages);
    return wired;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Logs what takes long. A bar that a terminal shows makes room first. */
function progressLog(log: Logger, migration: MigrationReport) {
  return {
    onWaiting(why: string): void {
      migration.hideBar();
      log.warn(`waiting for the database: ${why}`);
    },
    onInfo(message: string, fields: Record<string, unknown>): void {
      migration.hideBar();
      log.info(fields, message);
    },
  };
}

function watchStore(
  { config, log, failures, migration, isPassive }: Deps,
  outages: Promise<ServerOutages>,
  damage: DamageFound,
): StoreWatch {
  const { onWaiting, onInfo } = progressLog(log, migration);
  const onError = (error: unknown) => failures.taskFailed(error);
  return {
    onFatal: (error) => {
      log.fatal({ err: error }, "the storage failed; stopping");
      process.exit(1);
    },
    onDamage: (error) => {
      damage.isFound = true;
      log.fatal(error.message);
      void outages
        .then((open) => open.begin("damage", "The database is damaged", error.message))
        .catch(onError);
    },
    onError,
    onInfo,
    onMigrating: migration.observe,
    onWarning: (text) => log.warn(text),
    onWaiting,
    connectTimeoutMs: Number.POSITIVE_INFINITY,
    // A command that answers its own requests needs data, and may run beside a server of an older version.
    mayCreate: !isPassive,
    mayUpgrade: !isPassive,
    recordsAs: isPassive ? "command" : "server",
    ...(!isPassive && config.backupMode === "continuous" && { segmentsTo: config.backupTo! }),
    beforeUpgrade(secretKeyCheck) {
      if (secretKeyCheck !== null) boxFor(config, secretKeyCheck);
    },
  };
}

async function wireUp(
  store: Store,
  {
    config,
    baseUrl,
    connections,
    log,
    failures,
    migration,
    passwords: hashing,
    now,
    signInTiers,
    isPassive,
  }: Deps,
  damage: DamageFound,
): Promise<OpenServices & { outages: ServerOutages }> {
  const { control, rateLimiter } = store;
  const onError = (error: unknown) => failures.taskFailed(error);
  const { onWaiting, onInfo } = progressLog(log, migration);
  const addressOf = (request: Request) => connections.addressOf(request);
  // The storage can become unavailable during startup, so each step is retried.
  const retrying = <Result>(operation: () => Promise<Result>) => untilAvailable(operation, onWaiting);

  const readiness = new Readiness(store.events);
  failures.watch(readiness);
  const clock = new ArrivalClock(await retrying(() => store.events.lastArrival()), {
    now,
    warn: (warning) => log.warn(warning),
  });
  const streams = new LiveStreams(store.events, clock, onError, (projectId, filter) =>
    withPeople(control, projectId, filter, { isSaved: true }),
  );
  const secrets = await retrying(() => openSecretBox(config, control));

  const secret = await retrying(() => getOrCreateSecret(control, secrets, "authSecret", generateSecretKey));
  const passwords = inTurns(hashing);
  const auth = createAuth(control, { secret, baseUrl, config, passwords, rateLimiter, log });
  const isSecure = baseUrl.startsWith("https:");
  const signInLimits = new SignInLimits({ rateLimiter, secret, isSecure, tiers: signInTiers });
  const keys = new ApiKeyCache(control, addressOf, onError);

  const linkSecret = await retrying(() =>
    getOrCreateSecret(control, secrets, "unsubscribeSecret", generateSecretKey),
  );
  const pictureLinks = new PictureLinks(linkSecret, baseUrl);
  const renderReport = createReportRenderer({ store, links: pictureLinks, onError });
  const notifications = await retrying(() =>
    openNotifications({ store, streams, secrets, config, baseUrl, isPassive, onError, now, renderReport }),
  );
  const { outages } = notifications;
  const { recentEvents, fanOut, mailer } = notifications.services;
  const emails = mailer && new AccountEmails(mailer, baseUrl, onError);

  const rejected = new RejectedEvents({ events: store.events, control, config, onError });
  const projectChannels = new ProjectChannels(control);
  const watchedEvents = new WatchedEventsCache(control);
  const quota = new DailyQuota(control, { now, onError });
  const recorder = createRecorder({
    events: store.events,
    channels: projectChannels,
    rules: watchedEvents,
    quota,
    clock,
  });
  const largeBodies = new BodySemaphore();
  const { deliveryWorker } = notifications.services;
  const reportWorker = new ReportWorker({ store, onMade: () => deliveryWorker.wake(), onError, now });
  const heartbeatWorker = new HeartbeatWorker({ store, recorder, rejected, onError, now });
  if (!isPassive) await retrying(() => heartbeatWorker.startAgain());
  const rateLimits = new KeyRateLimits(store);
  const websiteWorker = new WebsiteWorker({ store, onError, now });

  await retrying(() =>
    store.events.follow({
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
      told: ({ accountId, projectId, type, data }) => streams.sendToAccount(accountId, type, data, projectId),
    }),
  );
  const worker = new BackgroundWorker({
    store,
    jobs: { "erase-user": eraseUser, "delete-channel": deleteChannel, "delete-project": deleteProject },
    eraseTraces,
    correctUsers: (projectId) => repairTimes(store, projectId),
    onRemoved: (ids) => recentEvents.drop(ids),
    deliveryDays: config.deliveryDays,
    auditDays: config.auditDays,
    onError,
    onInfo,
  });
  const userActivity = new UserActivity({ store, onError });
  const cohortWorker = new CohortWorker({ store, userActivity, onError, now });
  const isMeasured = config.metricsToken !== null || config.metricsAddress !== null;
  const { backups, shipper, verification } = openBackups({ store, config, outages, onError, onInfo, now });
  const diskGrowth =
    isPassive || store.dataDirectory === null
      ? null
      : new DiskGrowth({ store, dataDirectory: store.dataDirectory, onError });
  const metrics = isMeasured ? await openMetrics({ store, streams, damage, shipper, diskGrowth }) : null;
  const commits = new CommitMeter();
  store.events.observeCommits((stored, ms, syncMs) => {
    commits.observe(stored, ms);
    metrics?.observeCommit(stored, ms, syncMs);
  });
  const setup = isPassive ? null : await retrying(() => openSetup(control));
  return {
    services: {
      config,
      baseUrl,
      failures,
      readiness,
      store,
      auth,
      passwords,
      reauthentication: new Reauthentication({ store, passwords }),
      signInLimits,
      emails,
      requestVerification: emails && createRequestVerification(store, emails),
      authorizer: new Authorizer({ control, auth, keys, baseUrl }),
      keys,
      streamAuthorizer: new StreamAuthorizer(control, streams, onError),
      streams,
      recorder,
      projectChannels,
      rejected,
      largeBodies,
      rateLimits,
      webhookReceiver: new WebhookReceiver({
        store,
        secrets,
        recorder,
        rejected,
        largeBodies,
        failures,
        addressOf,
        setRequestTimeout: (request, seconds) => connections.setTimeout(request, seconds),
      }),
      pings: new PingReceiver({
        store,
        secrets,
        keys,
        rateLimits,
        addressOf,
        onPing: () => heartbeatWorker.wake(),
        now,
      }),
      website: new WebsiteReceiver({
        secrets,
        store,
        keys,
        rateLimits,
        recorder,
        rejected,
        worker: websiteWorker,
        boards: new WebsiteBoards(control),
        countryOf: countryLookup(config.countryDatabase),
        addressOf,
        now,
      }),
      heartbeatWorker,
      reportWorker,
      pictureLinks,
      worker,
      userActivity,
      cohortWorker,
      watchedEvents,
      ...notifications.services,
      secrets,
      metrics,
      commits,
      backups,
      shipper,
      diskGrowth,
      addressOf,
      setRequestTimeout: (request, seconds) => connections.setTimeout(request, seconds),
    },
    outages,
    setup,
    start() {
      notifications.start();
      heartbeatWorker.wake();
      reportWorker.wake();
      worker.wake();
      userActivity.start();
      websiteWorker.wake();
      cohortWorker.wake();
      // It has a backup made when it needs one.
      if (shipper) shipper.start();
      else void backups?.look();
      diskGrowth?.start();
    },
    async close() {
      // The database may stop first. The token then expires by age.
      await setup?.close().catch(onError);
      backups?.close();
      verification?.close();
      diskGrowth?.stop();
      await shipper?.stop();
      await reportWorker.close();
      await heartbeatWorker.close();
      await websiteWorker.close();
      await cohortWorker.close();
      await userActivity.close();
      await worker.close();
      await notifications.close();
      await keys.close();
      await quota.close();
      await store.close();
      await shipper?.shipRest();
    },
  };
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
