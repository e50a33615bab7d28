/** A mistake in a request body: an RFC 6901 pointer and a sentence that says how to fix it. */
export type Fault = { pointer: string; detail: string };

/** Returns an RFC 6901 pointer. */
export function pointerTo(...path: string[]): string {
  return path.map((part) => `/${clipped(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Shortens a caller's text for use in a message. */
export function clipped(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text.toWellFormed();
}

/**
 * Every problem that the service returns (RFC 9457). The code is the last part of `type`, the title is fixed for each
 * code, and the detail describes the occurrence.
 */
const problems = {
  "body-invalid": { status: 422, title: "Invalid body" },
  "body-malformed": { status: 400, title: "Malformed body" },
  "body-too-large": { status: 413, title: "Body too large" },
  "body-too-slow": { status: 408, title: "Body sent too slowly" },
  "content-type-unsupported": { status: 415, title: "Unsupported content type" },
  "lines-rejected": { status: 422, title: "Too many rejected lines" },
  "host-invalid": { status: 400, title: "Invalid Host header" },
  "query-invalid": { status: 400, title: "Invalid query" },
  "query-too-expensive": { status: 422, title: "Query too expensive" },
  "key-missing": { status: 401, title: "API key or session required" },
  "key-in-url": { status: 400, title: "API key in the URL" },
  "key-invalid": { status: 401, title: "Invalid API key" },
  "sign-in-failed": { status: 401, title: "Wrong email or password" },
  "password-common": { status: 422, title: "Password easy to guess" },
  "account-request-invalid": { status: 400, title: "Invalid request" },
  "rate-limited": { status: 429, title: "Rate limit exceeded" },
  "quota-reached": { status: 429, title: "Daily quota reached" },
  "too-many-requests": { status: 429, title: "Too many requests" },
  "sign-in-needed": { status: 401, title: "Sign-in required" },
  "key-insufficient": { status: 403, title: "Not allowed with this API key" },
  "key-origin-forbidden": { status: 403, title: "Origin not allowed for this API key" },
  "origin-forbidden": { status: 403, title: "Request from another site" },
  "role-insufficient": { status: 403, title: "Not allowed with your role" },
  "session-stale": { status: 403, title: "Recent sign-in required" },
  "password-wrong": { status: 403, title: "Wrong password" },
  "code-wrong": { status: 401, title: "Wrong code" },
  "link-invalid": { status: 403, title: "Invalid link" },
  "project-creation-restricted": { status: 403, title: "Not allowed to create projects" },
  "sign-up-closed": { status: 403, title: "Invitation required" },
  "provider-unavailable": { status: 503, title: "Sign-in provider unavailable" },
  "passkey-unknown": { status: 404, title: "Passkey not found" },
  "session-unknown": { status: 404, title: "Session not found" },
  "account-owns-projects": { status: 409, title: "Account owns projects of others" },
  "setup-closed": { status: 409, title: "Already set up" },
  "setup-token-invalid": { status: 403, title: "Invalid setup link" },
  "if-match-invalid": { status: 400, title: "Invalid If-Match" },
  "changed-meanwhile": { status: 412, title: "Changed meanwhile" },
  "idempotency-key-invalid": { status: 400, title: "Invalid Idempotency-Key" },
  "idempotency-key-reused": { status: 422, title: "Idempotency-Key already used" },
  "request-under-way": { status: 409, title: "Request in progress" },
  "notification-unknown": { status: 404, title: "Notification not found" },
  "rejected-event-unknown": { status: 404, title: "Rejected event not found" },
  "channel-exists": { status: 409, title: "Channel already exists" },
  "account-exists": { status: 409, title: "Account already exists" },
  "channel-unknown": { status: 404, title: "Channel not found" },
  "user-known": { status: 409, title: "Both users are known" },
  "id-taken": { status: 409, title: "ID of another user" },
  "id-not-joined": { status: 409, title: "ID not joined" },
  "id-not-allowed": { status: 422, title: "Not the ID of one person" },
  "signature-invalid": { status: 403, title: "Signature missing or wrong" },
  "user-unknown": { status: 404, title: "User not found" },
  "note-unknown": { status: 404, title: "Note not found" },
  "group-unknown": { status: 404, title: "Group not found" },
  "event-unknown": { status: 404, title: "Event not found" },
  "job-unknown": { status: 404, title: "Job not found" },
  "member-unknown": { status: 404, title: "Member not found" },
  "member-exists": { status: 409, title: "Already a member" },
  "owner-needed": { status: 409, title: "A project needs an owner" },
  "invitation-unknown": { status: 404, title: "Invitation not found" },
  "invitation-for-another": { status: 403, title: "Invitation for another address" },
  "project-unknown": { status: 404, title: "Project not found" },
  "key-unknown": { status: 404, title: "API key not found" },
  "key-inactive": { status: 409, title: "API key no longer in use" },
  "destination-unknown": { status: 404, title: "Destination not found" },
  "view-unknown": { status: 404, title: "View not found" },
  "rule-unknown": { status: 404, title: "Rule not found" },
  "value-unknown": { status: 404, title: "Value not found" },
  "rule-exists": { status: 409, title: "Rule already exists" },
  "alert-unknown": { status: 404, title: "Alert not found" },
  "alert-resolved": { status: 409, title: "Alert already resolved" },
  "alert-link-unknown": { status: 404, title: "Link not valid" },
  "alert-link-used": { status: 409, title: "Link already used" },
  "silence-unknown": { status: 404, title: "Silence not found" },
  "silence-planned": { status: 409, title: "Silence has not begun" },
  "silence-begun": { status: 409, title: "Silence has begun" },
  "silence-ended": { status: 409, title: "Silence has ended" },
  "annotation-unknown": { status: 404, title: "Annotation not found" },
  "cohort-unknown": { status: 404, title: "Cohort not found" },
  "cohort-exists": { status: 409, title: "Cohort already exists" },
  "cohort-in-use": { status: 409, title: "Cohort is in use" },
  "cohort-not-ready": { status: 503, title: "Cohort not computed yet" },
  "board-unknown": { status: 404, title: "Board not found" },
  "tile-unknown": { status: 404, title: "Tile not found" },
  "insight-unknown": { status: 404, title: "Insight not found" },
  "destination-exists": { status: 409, title: "Destination already exists" },
  "destination-not-webhook": { status: 409, title: "Destination is not a webhook" },
  "method-unknown": { status: 405, title: "Method not allowed" },
  "route-unknown": { status: 404, title: "Not found" },
  "limit-reached": { status: 409, title: "Limit reached" },
  "webhook-unknown": { status: 404, title: "Webhook not found" },
  "webhook-exists": { status: 409, title: "Webhook already exists" },
  "webhook-address-unknown": { status: 409, title: "Webhook's address not kept" },
  "webhook-signature-invalid": { status: 403, title: "Invalid signature" },
  "interaction-signature-invalid": { status: 401, title: "Invalid signature" },
  "interaction-unanswered": { status: 502, title: "Answer not delivered" },
  "webhook-request-unknown": { status: 404, title: "Webhook request not found" },
  "heartbeat-unknown": { status: 404, title: "Heartbeat not found" },
  "heartbeat-exists": { status: 409, title: "Heartbeat already exists" },
  "heartbeat-address-unknown": { status: 409, title: "Heartbeat's address not kept" },
  "schedule-unknown": { status: 404, title: "On-call schedule not found" },
  "schedule-exists": { status: 409, title: "On-call schedule already exists" },
  "schedule-in-use": { status: 409, title: "On-call schedule is used by rules" },
  "override-unknown": { status: 404, title: "Override not found" },
  "report-unknown": { status: 404, title: "Report not found" },
  "report-empty": { status: 409, title: "Board has no tiles" },
  "report-unreachable": { status: 409, title: "Nowhere to send the report" },
  "delivery-unknown": { status: 404, title: "Delivery not found" },
  "delivery-not-dead": { status: 409, title: "Delivery is not dead" },
  "unsubscribe-link-unknown": { status: 404, title: "Unsubscribe link not valid" },
  "mute-unknown": { status: 404, title: "Mute not found" },
  "destination-taken": { status: 409, title: "Destination belongs to another account" },
  "streams-exceeded": { status: 429, title: "Too many live streams" },
  "email-unavailable": { status: 409, title: "Email not configured" },
  "email-unverified": { status: 409, title: "Email address not confirmed" },
  overloaded: { status: 503, title: "Server overloaded" },
  "storage-full": { status: 507, title: "Disk full" },
  "storage-unavailable": { status: 503, title: "Storage unavailable" },
  "older-events-unavailable": { status: 503, title: "Older events unavailable" },
  "storage-damaged": { status: 500, title: "Database damaged" },
  migrating: { status: 503, title: "Database being upgraded" },
  "clock-wrong": { status: 503, title: "Wrong server clock" },
  stopping: { status: 503, title: "Server stopping" },
  internal: { status: 500, title: "Internal error" },
} as const;

export type ProblemCode = keyof typeof problems;

/** A problem's `type`. */
export function problemTypeOf(code: ProblemCode): string {
  return `/problems/${code}`;
}

/** For every response with data: caches must not store it, and browsers must not guess its type. */
export const dataHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** The response body of an error, `application/problem+json` (RFC 9457). Its schema is in `schemas/problem.ts`. */
export type Problem = {
  ok: false;
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Fault[] | undefined;
  /** Position of the error in `q`, from 1. */
  column?: number | undefined;
  /** If older events can't be read: those from this time on can. */
  availableFrom?: string | undefined;
  /** The response's `x-request-id`, which the server's log has too. */
  requestId?: string | undefined;
};

/** A problem of what somebody else has changed or deleted meanwhile. */
export type ConflictProblem = Problem & {
  /** What is there now; undefined if it is gone. */
  current?: Record<string, unknown> | undefined;
  /** Its last change, or its deletion. */
  change?: LastChange | undefined;
};

/** What was last done to something, by whom and when, as the audit log says. */
export type LastChange = {
  action: string;
  at: string;
  by: { kind: string; id: string | null; name: string | null };
};

type ProblemOptions = {
  detail: string;
  errors?: Fault[];
  /** Position of the error in a search, from 1. */
  column?: number;
  /** If older events can't be read: those from this time on can. */
  availableFrom?: string;
  /** What is there now, as its GET returns it. */
  current?: Record<string, unknown>;
  /** Its last change, or its deletion. */
  change?: LastChange;
  /** Logged, never sent. */
  log?: unknown;
  retryAfterSeconds?: number;
  /** Methods that the path allows, for `Allow` (RFC 9110, section 15.5.6). */
  allow?: string[];
};

/** A problem as an exception. Routes throw it; `errorResponse` in `failures.ts` turns it into the response. */
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

  toProblem(requestId?: string): Problem {
    const { status, title } = problems[this.code];
    const { detail, errors, column, availableFrom } = this.options;
    return {
      ok: false,
      type: problemTypeOf(this.code),
      title,
      status,
      detail,
      ...(errors && { errors }),
      ...(column !== undefined && { column }),
      ...(availableFrom !== undefined && { availableFrom }),
      ...(requestId !== undefined && { requestId }),
    };
  }

  toResponse(requestId?: string): Response {
    const headers = new Headers({
      "content-type": "application/problem+json",
      ...dataHeaders,
      "access-control-allow-origin": "*",
    });
    if (requestId !== undefined) headers.set("x-request-id", requestId);
    if (this.status === 401) headers.set("www-authenticate", 'Bearer realm="tidings"');
    // The rest of the request is not read (RFC 9110, section 15.5.9).
    if (this.status === 408) headers.set("connection", "close");
    if (this.options.retryAfterSeconds !== undefined) {
      headers.set("retry-after", String(this.options.retryAfterSeconds));
      headers.set("access-control-expose-headers", "retry-after");
    }
    if (this.options.allow) headers.set("allow", this.options.allow.join(", "));
    const { current, change } = this.options;
    const body = { ...this.toProblem(requestId), current, change };
    return new Response(JSON.stringify(body), { status: this.status, headers });
  }
}

/** Whether the storage, or the part of it that was needed, can't be reached: the same may succeed later. */
export function isUnavailable({ code }: ProblemError): boolean {
  return code === "storage-unavailable" || code === "older-events-unavailable";
}

/** @example throw problem("channel-exists", { detail: `The channel "payments" already exists.` }) */
export function problem(code: ProblemCode, options: ProblemOptions): ProblemError {
  return new ProblemError(code, options);
}
