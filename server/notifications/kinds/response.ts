import { callOutbound, causeOf, type OutboundResponse, readRetryAfterMs } from "../outbound.ts";
import type { Context, Outcome } from "./kind.ts";

/** Appends a path, whose variable parts must be encoded, to the address of a service. */
export function joinUrl(base: string, path: string): string {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url.href;
}

/** A response, with its body parsed as JSON; null if it isn't JSON. */
export type ServiceResponse = OutboundResponse & { json: unknown };

/** Sends JSON to a service. */
export async function sendJson(
  method: "POST" | "PUT" | "PATCH",
  address: string,
  body: unknown,
  context: Context,
  headers: Record<string, string> = {},
): Promise<ServiceResponse> {
  return call(
    method,
    address,
    JSON.stringify(body),
    { "content-type": "application/json", ...headers },
    context,
  );
}

/** Calls a service. */
export async function call(
  method: string,
  address: string,
  body: string,
  headers: Record<string, string>,
  { policy, timeoutMs }: Context,
): Promise<ServiceResponse> {
  const response = await callOutbound(
    address,
    { method, headers, body, ...(timeoutMs !== undefined && { timeoutMs }) },
    policy,
  );
  return { ...response, json: parseJson(response.body) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The value at a path of members; undefined if there is none. */
export function memberOf(json: unknown, ...path: string[]): unknown {
  let value = json;
  for (const name of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** How a service answers. Without a function, the usual meaning of the status holds. */
export type Service = {
  /** For the beginning of a sentence. */
  name: string;
  /** Why it refused a message, in its own words. Default: the body, if it is plain text. */
  reason?: (response: ServiceResponse) => unknown;
  /** How long it asks to wait, in milliseconds. Default: the `Retry-After` header. */
  retryAfterMs?: (response: ServiceResponse, nowMs: number) => number | undefined;
  /** Whether a refusal can pass soon, such as a 404 while the service is deployed. Default: never. */
  isPassing?: (response: ServiceResponse) => boolean;
  /** Whether it says that the destination no longer exists. Default: never. */
  isGone?: (response: ServiceResponse) => boolean;
  /** Under which id a message can be updated. */
  reference?: (response: ServiceResponse) => unknown;
};

/** How long a deployment of a service may take. */
const passingMs = 60 * 60 * 1_000;

/** A 404 that isn't the service's own, which would be JSON: from a proxy, while the service behind it is deployed. */
export function isFromProxy({ status, json }: ServiceResponse): boolean {
  return status === 404 && json === null;
}

/** Turns a service's response into an outcome, by its status. */
export function outcomeOf(response: ServiceResponse, service: Service, { nowMs }: Context): Outcome {
  const { status } = response;
  const said = `${service.name} answered ${status}`;
  if (status >= 200 && status < 300) {
    const reference = service.reference?.(response);
    return {
      kind: "delivered",
      detail: `${said}.`,
      ...(reference !== undefined && { reference: String(reference) }),
    };
  }
  if (status >= 300 && status < 400) {
    return { kind: "failed", detail: `${said}. Redirects are not followed: enter the final address.` };
  }
  const reason = reasonOf(response, service);
  const detail = reason === "" ? `${said}.` : `${said}: ${reason}`;
  if (service.isGone?.(response)) return { kind: "gone", detail };
  if (service.isPassing?.(response)) return { kind: "retry", detail, giveUpAfterMs: passingMs };
  if (status !== 408 && status !== 429 && status < 500) return { kind: "failed", detail };
  const asked = service.retryAfterMs?.(response, nowMs);
  const isUsable = asked !== undefined && Number.isFinite(asked) && asked >= 0;
  const retryAfterMs = isUsable ? asked : readRetryAfterMs(response.headers["retry-after"], nowMs);
  const cause = causeOf(status);
  return {
    kind: "retry",
    detail,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(cause !== undefined && { cause }),
  };
}

function reasonOf(response: ServiceResponse, { reason }: Service): string {
  const isHtml = response.headers["content-type"]?.includes("html") ?? false;
  const text = reason?.(response) ?? (isHtml ? "" : response.body);
  return String(text)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
}

/** Updates the previous message if there is one. If that is refused, it was deleted or is too old, and a new one is sent. */
export async function updateOrSend(
  { previous }: Context,
  update: (previous: string) => Promise<Outcome>,
  send: () => Promise<Outcome>,
): Promise<Outcome> {
  if (previous === undefined) return send();
  const outcome = await update(previous);
  return outcome.kind === "failed" ? send() : outcome;
}
