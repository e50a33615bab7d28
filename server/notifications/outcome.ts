// placeholder, being written by another founder; overwrite freely
export type Outcome = { kind: "delivered"; detail: string } | { kind: "retry"; detail: string; retryAfterMs?: number } | { kind: "gone"; detail: string } | { kind: "failed"; detail: string };
