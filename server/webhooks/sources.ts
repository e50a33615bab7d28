import { createHash } from "node:crypto";
import type { TurnOwner } from "../scheduling/turns.ts";
import type { WebhookMapping, WebhookSource } from "../schemas/webhook.ts";
import { alertIdOf, alertmanagerMappings, alertsIn } from "./alertmanager.ts";
import { cloudflareLineId, cloudflareMappings, cloudflareValues } from "./cloudflare.ts";
import type { MappingInput } from "./expression.ts";
import { githubMappings } from "./github.ts";
import { grafanaMappings } from "./grafana.ts";
import { herokuMappings, herokuValues, parseLogplex } from "./heroku.ts";
import { atMost, parseLogLines } from "./log-lines.ts";
import { type CompiledMapping, compileMapping } from "./mapping.ts";
import { netlifyMappings, netlifyValues } from "./netlify.ts";
import { parseBody } from "./request-body.ts";
import { sentryMappings } from "./sentry.ts";
import { stripeMappings, stripeValues } from "./stripe.ts";
import { heartbeatIdOf, uptimeKumaMappings, uptimeKumaValues } from "./uptime-kuma.ts";
import { vercelLineId, vercelMappings, vercelValues } from "./vercel.ts";

type Source = {
  /**
   * How the sender tells deliveries apart; null if it doesn't.
   *
   * @param index - the item's place in its request
   */
  deliveryIdOf: (input: MappingInput, index: number) => string | null;
  /** What `@name` means besides the headers. */
  valuesOf?: (body: unknown) => Record<string, string>;
  /** For webhooks without a mapping of their own. The first one whose condition is met applies. */
  readyMappings?: readonly CompiledMapping[];
  /** For senders whose requests have many alerts or log lines, each of which is mapped to an event. */
  batch?: {
    /** Parses a body, by default JSON. Throws `body-malformed` and `body-invalid`. */
    parse?: (bytes: Uint8Array, owner: TurnOwner) => unknown;
    itemsOf: (body: unknown) => unknown[];
  };
};

const logLines: Source["batch"] = { parse: parseLogLines, itemsOf: linesIn };
const alerts: Source["batch"] = { itemsOf: (body) => atMost(alertsIn(body)) };
const idOfHeader =
  (name: string): Source["deliveryIdOf"] =>
  ({ headers }) =>
    headers[name] ?? null;

const sources: Record<WebhookSource, Source> = {
  plain: { deliveryIdOf: idOfHeader("webhook-id") },
  hmac: { deliveryIdOf: () => null },
  "standard-webhooks": { deliveryIdOf: idOfHeader("webhook-id") },
  stripe: {
    deliveryIdOf({ body }) {
      const id = (body as { id?: unknown } | null)?.id;
      return typeof id === "string" && id !== "" ? id : null;
    },
    valuesOf: stripeValues,
    readyMappings: stripeMappings.map(compileReady),
  },
  github: {
    deliveryIdOf: idOfHeader("x-github-delivery"),
    readyMappings: githubMappings.map(compileReady),
  },
  sentry: { deliveryIdOf: idOfHeader("request-id"), readyMappings: sentryMappings.map(compileReady) },
  alertmanager: {
    deliveryIdOf: ({ body }) => alertIdOf(body),
    readyMappings: alertmanagerMappings.map(compileReady),
    batch: alerts,
  },
  grafana: {
    deliveryIdOf: ({ body }) => alertIdOf(body),
    readyMappings: grafanaMappings.map(compileReady),
    batch: alerts,
  },
  "uptime-kuma": {
    deliveryIdOf: ({ body }) => heartbeatIdOf(body),
    valuesOf: uptimeKumaValues,
    readyMappings: uptimeKumaMappings.map(compileReady),
  },
  vercel: {
    deliveryIdOf: ({ body }, index) => vercelLineId(body) ?? idOfContent(body, index),
    valuesOf: vercelValues,
    readyMappings: vercelMappings.map(compileReady),
    batch: logLines,
  },
  netlify: {
    deliveryIdOf: ({ body }, index) => idOfContent(body, index),
    valuesOf: netlifyValues,
    readyMappings: netlifyMappings.map(compileReady),
    batch: logLines,
  },
  heroku: {
    deliveryIdOf({ headers }, index) {
      const id = headers["logplex-frame-id"];
      return id === undefined ? null : `${id} ${index}`;
    },
    valuesOf: herokuValues,
    readyMappings: herokuMappings.map(compileReady),
    batch: { parse: parseLogplex, itemsOf: linesIn },
  },
  cloudflare: {
    deliveryIdOf: ({ body }, index) => cloudflareLineId(body) ?? idOfContent(body, index),
    valuesOf: cloudflareValues,
    readyMappings: cloudflareMappings.map(compileReady),
    batch: logLines,
  },
};

export function sourceOf(source: WebhookSource): Source {
  return sources[source];
}

/**
 * Parses a request's body by its source. Throws `content-type-unsupported`, `body-malformed`, `body-too-large` and
 * `body-invalid`.
 *
 * @param owner - yields to others while it reads a batch
 */
export async function parseBodyOf(
  source: WebhookSource,
  bytes: Uint8Array,
  type: string | null,
  owner: TurnOwner,
): Promise<unknown> {
  const { batch } = sources[source];
  return batch?.parse ? batch.parse(bytes, owner) : parseBody(bytes, type);
}

/** What of a body becomes an event each: of most sources, the body itself. Throws `body-invalid` for too much. */
export function itemsOf(source: WebhookSource, body: unknown): unknown[] {
  const { batch } = sources[source];
  return batch ? batch.itemsOf(body) : [body];
}

function linesIn(body: unknown): unknown[] {
  return Array.isArray(body) ? body : [body];
}

/**
 * Senders that try again send the same lines at the same places. A line has its time, to the millisecond or finer; of
 * Cloudflare, only if the job writes it so.
 */
function idOfContent(line: unknown, index: number): string | null {
  if (line === null) return null;
  return createHash("sha256")
    .update(`${index} ${JSON.stringify(line)}`)
    .digest("hex");
}

function compileReady(mapping: WebhookMapping): CompiledMapping {
  const compiled = compileMapping(mapping);
  if (Array.isArray(compiled)) throw new Error(compiled[0]!.detail);
  return compiled;
}
