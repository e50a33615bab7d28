import type { KeyRing } from "./auth/api-key-cache.ts";
import type { Auth } from "./auth/auth.ts";
import type { Gate } from "./auth/authorizer.ts";
import type { PasswordHashing } from "./auth/passwords.ts";
import type { Upkeep } from "./background/worker.ts";
import type { ProjectChannels } from "./channels/project-channels.ts";
import type { Config } from "./config.ts";
import type { LiveStreams } from "./events/live.ts";
import type { StreamWatch } from "./events/stream-authorizer.ts";
import type { FailureLog } from "./failure-log.ts";
import type { Recorder } from "./ingest/record.ts";
import type { RejectedEvents } from "./ingest/rejected.ts";
import type { Send } from "./notifications/sender.ts";
import type { Readiness } from "./readiness.ts";
import type { Store } from "./storage/store.ts";

/** All that the routes stand on; `main.ts` puts it together. */
export type House = {
  config: Config;
  /** The public address, without a trailing slash. */
  baseUrl: string;
  failures: FailureLog;
  readiness: Readiness;
  store: Store;
  auth: Auth;
  passwords: PasswordHashing;
  gate: Gate;
  keys: KeyRing;
  watch: StreamWatch;
  live: LiveStreams;
  recorder: Recorder;
  projectChannels: ProjectChannels;
  rejected: RejectedEvents;
  upkeep: Upkeep;
  channels: { browser: Send; email?: Send | undefined };
  vapidPublicKey: string;
  /** Ends a request's connection where nothing moves on it for so many seconds; 0 never does. */
  setRequestTimeout: (request: Request, seconds: number) => void;
};
