/**
 * How one attempt to send a notification went. The detail is a sentence for people, shown with the delivery.
 *
 * - `delivered`: the other side has taken it over.
 * - `retry`: it may succeed later, after `retryAfterMs` milliseconds at the earliest where the other side said so.
 * - `gone`: the destination no longer exists and is to be removed.
 * - `failed`: it will never succeed, so there is no use in retrying.
 */
export type Outcome =
  | { kind: "delivered"; detail: string }
  | { kind: "retry"; detail: string; retryAfterMs?: number }
  | { kind: "gone"; detail: string }
  | { kind: "failed"; detail: string };
