import { z } from "@hono/zod-openapi";

/** One place in a request body that is wrong: an RFC 6901 pointer and a sentence that says what to do. */
export type Fault = { pointer: string; detail: string };

/** An RFC 6901 pointer. */
export function pointerTo(...path: string[]): string {
  return path.map((part) => `/${clipped(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The start of a text that a caller sent, to be told back. */
export function clipped(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text.toWellFormed();
}

/**
 * Every problem that the service answers with, as RFC 9457 describes them: the code is the last part of `type`,
 * the title never changes for a code, and the detail is the sentence for this occurrence.
 */
const problems = {
  "body-invalid": { status: 422, title: "The body does not fit" },
  "body-malformed": { status: 400, title: "The body is not valid JSON" },
  "body-too-large": { status: 413, title: "The body is too large" },
  "body-too-slow": { status: 408, title: "The body comes too slowly" },
  "content-type-unsupported": { status: 415, title: "The content type is not supported" },
  "lines-rejected": { status: 422, title: "Too many lines are rejected" },
  "host-invalid": { status: 400, title: "The Host header does not fit" },
  "query-invalid": { status: 400, title: "The query does not fit" },
  "key-missing": { status: 401, title: "An API key or a session is needed" },
  "key-invalid": { status: 401, title: "The API key is not known" },
  "sign-in-failed": { status: 401, title: "The e-mail address or the password is wrong" },
  "account-request-invalid": { status: 400, title: "The request does not fit" },
  "too-many-requests": { status: 429, title: "Too many requests come at once" },
  "sign-in-needed": { status: 401, title: "This needs a signed-in account" },
  "key-insufficient": { status: 403, title: "An API key may not do this" },
  "origin-forbidden": { status: 403, title: "The request comes from another site" },
  "project-forbidden": { status: 403, title: "The project is not yours" },
  "setup-closed": { status: 409, title: "Tidings is set up already" },
  "setup-token-invalid": { status: 403, title: "The set-up link is not valid" },
  "idempotency-key-invalid": { status: 400, title: "The Idempotency-Key can't be used" },
  "idempotency-key-reused": { status: 422, title: "The Idempotency-Key belongs to another request" },
  "request-under-way": { status: 409, title: "The same request is under way" },
  "rejected-event-unknown": { status: 404, title: "No such rejected event" },
  "channel-exists": { status: 409, title: "The channel exists already" },
  "account-exists": { status: 409, title: "The account exists already" },
  "channel-unknown": { status: 404, title: "No such channel" },
  "user-unknown": { status: 404, title: "No such user" },
  "event-unknown": { status: 404, title: "No such event" },
  "job-unknown": { status: 404, title: "No such job" },
  "project-unknown": { status: 404, title: "No such project" },
  "key-unknown": { status: 404, title: "No such API key" },
  "destination-unknown": { status: 404, title: "No such destination" },
  "method-unknown": { status: 405, title: "The page does not take this method" },
  "route-unknown": { status: 404, title: "No such page" },
  "limit-reached": { status: 409, title: "A limit is reached" },
  "destination-taken": { status: 409, title: "The destination is another account's" },
  "streams-exceeded": { status: 429, title: "Too many live streams are open" },
  "email-unavailable": { status: 409, title: "E-mail is not configured" },
  overloaded: { status: 503, title: "Too many requests are waiting" },
  "storage-full": { status: 507, title: "The disk is full" },
  "storage-unavailable": { status: 503, title: "The storage does not answer" },
  "storage-damaged": { status: 500, title: "What is stored is damaged" },
  "clock-wrong": { status: 503, title: "The server's clock is wrong" },
  stopping: { status: 503, title: "The server is stopping" },
  internal: { status: 500, title: "Something went wrong" },
} as const;

export type ProblemCode = keyof typeof problems;

/** Of every answer that holds data: no cache keeps it, and no browser takes it for anything but what it says it is. */
export const dataHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** What a caller is told, `application/problem+json` (RFC 9457) with `ok: false`. */
export const Problem = z
  .object({
    ok: z.literal(false),
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
    column: z.int().optional().openapi({ description: "Where a search is wrong, from 1." }),
  })
  .openapi("Problem");
export type Problem = z.infer<typeof Problem>;

type ProblemOptions = {
  detail: string;
  errors?: Fault[];
  /** Where a search is wrong, from 1. */
  column?: number;
  /** For the log alone; never sent. */
  log?: unknown;
  retryAfterSeconds?: number;
  /** The methods that the page takes, for `Allow` (RFC 9110, section 15.5.6). */
  allow?: string[];
};

/** A problem as an exception: thrown anywhere below a route, answered by `app.ts`. */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, options: ProblemOptions) {
    super(`${code}: ${options.detail}`);
    this.name = "ProblemError";
    this.code = code;
    this.options = options;
  }

  get status(): number {
    return problems[this.code].status;
  }

  toProblem(): Problem {
    const { status, title } = problems[this.code];
    const { detail, errors, column } = this.options;
    return {
      ok: false,
      type: `/problems/${this.code}`,
      title,
      status,
      detail,
      ...(errors && { errors }),
      ...(column !== undefined && { column }),
    };
  }

  toResponse(): Response {
    const headers = new Headers({
      "content-type": "application/problem+json",
      ...dataHeaders,
      "access-control-allow-origin": "*",
    });
    if (this.status === 401) headers.set("www-authenticate", 'Bearer realm="tidings"');
    // What is still to come of the request is not read (RFC 9110, section 15.5.9).
    if (this.status === 408) headers.set("connection", "close");
    if (this.options.retryAfterSeconds !== undefined) {
      headers.set("retry-after", String(this.options.retryAfterSeconds));
    }
    if (this.options.allow) headers.set("allow", this.options.allow.join(", "));
    return new Response(JSON.stringify(this.toProblem()), { status: this.status, headers });
  }
}

/** @example throw problem("channel-exists", { detail: `There is a channel "payments" already.` }) */
export function problem(code: ProblemCode, options: ProblemOptions): ProblemError {
  return new ProblemError(code, options);
}
