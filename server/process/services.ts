import type { AlertLinks } from "../alerts/alert-links.ts";
import type { AccountEmails } from "../auth/account-emails.ts";
import type { ApiKeyCache } from "../auth/api-key-cache.ts";
import type { Auth } from "../auth/auth.ts";
import type { Authorizer } from "../auth/authorizer.ts";
import type { PasswordQueue } from "../auth/passwords.ts";
import type { Reauthentication } from "../auth/reauthenticate.ts";
import type { SignInLimits } from "../auth/sign-in-limits.ts";
import type { RequestVerification } from "../auth/verify-email.ts";
import type { BackgroundWorker } from "../background/worker.ts";
import type { BackupSchedule } from "../backup/schedule.ts";
import type { SegmentShipper } from "../backup/segment-shipper.ts";
import type { ProjectChannels } from "../channels/project-channels.ts";
import type { CohortWorker } from "../cohorts/cohort-worker.ts";
import type { Config } from "../config/config.ts";
import type { LiveStreams } from "../events/live.ts";
import type { StreamAuthorizer } from "../events/stream-authorizer.ts";
import type { HeartbeatWorker } from "../heartbeats/heartbeat-worker.ts";
import type { PingReceiver } from "../heartbeats/receive-ping.ts";
import type { BodySemaphore } from "../http/body-semaphore.ts";
import type { FailureLog } from "../http/failures.ts";
import type { KeyRateLimits } from "../ingest/key-limits.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import type { CommitMeter } from "../metrics/commit-meter.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { DeliveryWorker } from "../notifications/delivery-worker.ts";
import type { Mailer } from "../notifications/email.ts";
import type { FanOut } from "../notifications/fan-out.ts";
import type { HandOverWorker } from "../notifications/hand-over-worker.ts";
import type { DestinationKinds } from "../notifications/kinds/index.ts";
import type { MonitorWorker } from "../notifications/monitor-worker.ts";
import type { RecentEvents } from "../notifications/recent-events.ts";
import type { UnsubscribeLinks } from "../notifications/unsubscribe.ts";
import type { PictureLinks } from "../reports/report-links.ts";
import type { ReportWorker } from "../reports/report-worker.ts";
import type { WatchedEventsCache } from "../rules/watched-events.ts";
import type { DiskGrowth } from "../storage/disk-growth.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import type { UserActivity } from "../users/user-activity.ts";
import type { WebhookReceiver } from "../webhooks/receive.ts";
import type { WebsiteReceiver } from "../website/receive.ts";
import type { Readiness } from "./readiness.ts";

/** Services that routes share, wired up in `open-services.ts`. */
export type Services = {
  config: Config;
  /** Public address, without a trailing slash. */
  baseUrl: string;
  failures: FailureLog;
  readiness: Readiness;
  store: Store;
  auth: Auth;
  passwords: PasswordQueue;
  reauthentication: Reauthentication;
  signInLimits: SignInLimits;
  /** Null if email isn't configured. */
  emails: AccountEmails | null;
  requestVerification: RequestVerification | null;
  authorizer: Authorizer;
  keys: ApiKeyCache;
  streamAuthorizer: StreamAuthorizer;
  streams: LiveStreams;
  recorder: Recorder;
  projectChannels: ProjectChannels;
  rejected: RejectedEvents;
  largeBodies: BodySemaphore;
  rateLimits: KeyRateLimits;
  webhookReceiver: WebhookReceiver;
  website: WebsiteReceiver;
  pings: PingReceiver;
  heartbeatWorker: HeartbeatWorker;
  reportWorker: ReportWorker;
  pictureLinks: PictureLinks;
  worker: BackgroundWorker;
  userActivity: UserActivity;
  cohortWorker: CohortWorker;
  watchedEvents: WatchedEventsCache;
  fanOut: FanOut;
  monitorWorker: MonitorWorker;
  handOvers: HandOverWorker;
  /** Events that notify. */
  recentEvents: RecentEvents;
  /** How messages reach each kind of destination. */
  kinds: DestinationKinds;
  deliveryWorker: DeliveryWorker;
  unsubscribeLinks: UnsubscribeLinks;
  alertLinks: AlertLinks;
  /** For emails that aren't notifications; null if email isn't configured. */
  mailer: Mailer | null;
  vapidPublicKey: string;
  secrets: SecretBox;
  /** Null if no setting turns metrics on. */
  metrics: Metrics | null;
  commits: CommitMeter;
  /** Null without a schedule. */
  backups: BackupSchedule | null;
  /** Null unless backups are continuous. */
  shipper: SegmentShipper | null;
  /** Null if the database is another server's. */
  diskGrowth: DiskGrowth | null;
  /** The client's address, behind trusted proxies too; null if the connection is gone. */
  addressOf: (request: Request) => string | null;
  /** Closes a request's connection after this many idle seconds. 0 disables the timeout. */
  setRequestTimeout: (request: Request, seconds: number) => void;
};
