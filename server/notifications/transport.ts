import type { AccountMessage } from "./message.ts";

/** A message to one address. */
type NotificationMessage = {
  message: AccountMessage;
  address: string;
  secret: string | null;
  /** Ends the project's email to the account. */
  unsubscribeUrl?: string;
  /** Of the account, in which it reads times. Default: UTC. */
  timeZone?: string;
};

/** Sends one notification. Has a default timeout; throws only for errors of the program. */
export type Send = (message: NotificationMessage, timeoutMs?: number) => Promise<Outcome>;

/** How notifications reach accounts outside the dashboard, by kind of destination. Email only if it is configured. */
export type Transports = { browser: Send; email?: Send | undefined };

/**
 * Outcome of one attempt to send a notification. The detail is a sentence for users, shown with the delivery.
 *
 * - `delivered`: the other side accepted it. With the `reference`, some kinds of destinations can update the message.
 * - `retry`: it may succeed later, but not before `retryAfterMs` milliseconds if the other side said so. It is given up
 *   after `giveUpAfterMs`, if that is sooner than usual. The `cause` is known if it isn't this message: the other side
 *   takes fewer messages (`rate-limit`), or takes none now (`unavailable`).
 * - `gone`: the destination no longer exists and must be removed.
 * - `failed`: it will never succeed, so it is not retried.
 */
export type Outcome =
  | { kind: "delivered"; detail: string; reference?: string }
  | {
      kind: "retry";
      detail: string;
      retryAfterMs?: number;
      giveUpAfterMs?: number;
      cause?: "rate-limit" | "unavailable";
    }
  | { kind: "gone"; detail: string }
  | { kind: "failed"; detail: string };
