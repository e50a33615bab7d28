import type { ApiKeyCache } from "./auth/api-key-cache.ts";
import type { Auth } from "./auth/auth.ts";
import type { Authorizer } from "./auth/authorizer.ts";
import type { PasswordHashing } from "./auth/passwords.ts";
import type { BackgroundWorker } from "./background/worker.ts";
import type { ProjectChannels } from "./channels/project-channels.ts";
import type { Config } from "./config.ts";
import type { LiveStreams } from "./events/live.ts";
import type { StreamAuthorizer } from "./events/stream-authorizer.ts";
import type { FailureLog } from "./failure-log.ts";
import type { Recorder } from "./ingest/record.ts";
import type { RejectedEvents } from "./ingest/rejected.ts";
import type { Send } from "./notifications/delivery-worker.ts";
import type { Readiness } from "./readiness.ts";
import type { Store } from "./storage/store.ts";

/** What the routes share, wired up in `main.ts`. */
export type Services = {
  config: Config;
  /** The public address, without a trailing slash. */
  baseUrl: string;
  failures: FailureLog;
  readiness: Readiness;
  store: Store;
  auth: Auth;
  passwords: PasswordHashing;
  authorizer: Authorizer;
  keys: ApiKeyCache;
  streamAuthorizer: StreamAuthorizer;
  streams: LiveStreams;
  recorder: Recorder;
  projectChannels: ProjectChannels;
  rejected: RejectedEvents;
  worker: BackgroundWorker;
  transports: { browser: Send; email?: Send | undefined };
  vapidPublicKey: string;
  /** Ends a request's connection where nothing moves on it for so many seconds; 0 never does. */
  setRequestTimeout: (request: Request, seconds: number) => void;
};
