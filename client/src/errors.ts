import type { Problem } from "./wire.gen.ts";

type TidingsErrorOptions = {
  status: number;
  code: string;
  detail: string;
  errors?: Problem["errors"];
  retryAfterMs?: number | undefined;
};

/**
 * The server rejected the request, or the response did not come from Tidings.
 *
 * @example
 * try {
 *   await tidings.track({ channel: "payments", name: "" });
 * } catch (error) {
 *   if (error instanceof TidingsError) console.error(error.code, error.errors);
 *   // body-invalid [{ pointer: "/name", detail: '"name" must not be blank.' }]
 * }
 */
export class TidingsError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /**
   * The last part of the problem's `type` (RFC 9457), such as `body-invalid` or `key-invalid`. If the response is not a
   * problem from Tidings, for example from a proxy: `http-` and the status, `redirected` or `response-invalid`.
   */
  readonly code: string;
  /** What is wrong, as a sentence. */
  readonly detail: string;
  /** Each error in the body: an RFC 6901 pointer and a sentence. */
  readonly errors: { pointer: string; detail: string }[];
  /** How long the server asked to wait, in milliseconds, if it did. */
  readonly retryAfterMs: number | undefined;

  constructor({ status, code, detail, errors = [], retryAfterMs }: TidingsErrorOptions) {
    super(`${detail} (${status} ${code})`);
    this.name = "TidingsError";
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * No response arrived: the address doesn't resolve, nothing listens there, the connection broke, or the time limit
 * passed. `cause` is the error of the last attempt. The event may or may not be stored; if sent again with the same
 * `id`, it is stored once.
 *
 * @example
 * try {
 *   await tidings.track({ id, channel: "payments", name: "Payment received" });
 * } catch (error) {
 *   if (error instanceof TidingsNetworkError) queueForLater(id);
 * }
 */
export class TidingsNetworkError extends Error {
  /** How many attempts were made. */
  readonly attempts: number;

  constructor(message: string, { cause, attempts }: { cause: unknown; attempts: number }) {
    super(message, { cause });
    this.name = "TidingsNetworkError";
    this.attempts = attempts;
  }
}
