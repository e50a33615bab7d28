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
  declare readonly status: number;
  /**
   * The last part of the problem's `type` (RFC 9457), such as `body-invalid` or `key-invalid`. If the response is not a
   * problem from Tidings, for example from a proxy: `http-` and the status, `redirected` or `response-invalid`.
   */
  declare readonly code: string;
  /** What is wrong, as a sentence. */
  declare readonly detail: string;
  /** Each error in the body: an RFC 6901 pointer and a sentence. */
  declare readonly errors: { pointer: string; detail: string }[];
  /** How long the server asked to wait, in milliseconds, if it did. */
  declare readonly retryAfterMs: number | undefined;

  constructor(options: TidingsErrorOptions) {
    super(`${options.detail} (${options.status} ${options.code})`);
    Object.assign(this, { name: "TidingsError", errors: [], ...options });
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
  declare readonly attempts: number;

  constructor(message: string, { cause, attempts }: { cause: unknown; attempts: number }) {
    super(message, { cause });
    Object.assign(this, { name: "TidingsNetworkError", attempts });
  }
}
