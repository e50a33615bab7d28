/**
 * Outcome of one attempt to send a notification. The detail is a sentence for users, shown with the delivery.
 *
 * - `delivered`: the other side accepted it.
 * - `retry`: it may succeed later, but not before `retryAfterMs` milliseconds if the other side said so.
 * - `gone`: the destination no longer exists and must be removed.
 * - `failed`: it will never succeed, so it is not retried.
 */
export type Outcome =
  | { kind: "delivered"; detail: string }
  | { kind: "retry"; detail: string; retryAfterMs?: number }
  | { kind: "gone"; detail: string }
  | { kind: "failed"; detail: string };
