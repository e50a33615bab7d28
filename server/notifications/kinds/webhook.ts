import { createHmac, randomBytes } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { limits } from "../../core/limits.ts";
import type { AccountMessageType, Message } from "../message.ts";
import type { ReportContent } from "../report-content.ts";
import { defineKind, urlSetting } from "./kind.ts";
import { call, outcomeOf, type Service } from "./response.ts";

const secretPrefix = "whsec_";
/** The specification allows 24 to 64 bytes. */
const secretBytes = 32;

const secret = z.string().refine((text) => {
  const bytes = text.startsWith(secretPrefix) ? keyOf(text).length : 0;
  return bytes >= 24 && bytes <= 64;
}, `must be ${secretPrefix} and 24 to 64 bytes in base64`);

const settings = z.strictObject({
  url: urlSetting({
    title: "URL",
    description: "Where your server receives webhooks.",
    secret: true,
    readable: true,
  }),
  secret: secret.default(createWebhookSecret).meta({
    title: "Signing secret",
    description: "Your server verifies the signature with it.",
    secret: true,
  }),
  previousSecret: secret.optional().meta({ secret: true, internal: true }),
  previousSecretUntil: z.iso.datetime().optional().meta({ internal: true }),
});
export type WebhookSettings = z.infer<typeof settings>;

const service: Service = {
  name: "The webhook",
  // A proxy answers so while the receiver is deployed.
  isPassing: ({ status }) => status === 404,
  // The specification: the receiver no longer wants webhooks, and they must stop.
  isGone: ({ status }) => status === 410,
};

/**
 * Any HTTP server, by the Standard Webhooks specification:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export const webhook = defineKind({
  kind: "webhook",
  label: "Webhook",
  settings,
  async send(message, settings, context) {
    const body = JSON.stringify(payloadOf(message));
    const timestamp = Math.floor(context.nowMs / 1_000);
    const signatures = validSecrets(settings, context.nowMs).map((secret) =>
      sign(secret, `${message.id}.${timestamp}.${body}`),
    );
    const headers = {
      "content-type": "application/json",
      "webhook-id": message.id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signatures.join(" "),
    };
    return outcomeOf(await call("POST", settings.url, body, headers, context), service, context);
  },
});

/** A type never changes its schema, which docs/destinations.md describes. */
const types = {
  event: "event.created",
  summary: "rule.summary",
  digest: "rule.digest",
  silence: "rule.silence",
  recovery: "rule.recovery",
  threshold: "rule.threshold",
  metric: "rule.metric",
  "metric-recovery": "rule.metric-recovery",
  resolved: "rule.resolved",
  reminder: "rule.reminder",
  group: "rule.group",
  "rule-test": "rule.test",
  "messages-held": "messages.held",
  report: "report.sent",
  test: "webhook.test",
} as const satisfies Record<Exclude<Message["type"], AccountMessageType>, string>;

function payloadOf(whole: Message) {
  const { type, createdAt, url, urgent, project, rule, alert, metric, report, ...message } = whole;
  if (report)
    return { type: types.report, timestamp: createdAt, data: { ...reportOf(report), url, project } };
  const { event, title, text, matches, newest } = message;
  const content = type === "event" ? { event } : { title, text, event, matches, newest };
  return {
    type: types[type as keyof typeof types],
    timestamp: createdAt,
    data: {
      ...content,
      url,
      urgent,
      project,
      rule,
      ...(metric && { metric }),
      ...(alert && { alert: { url: alert.url } }),
    },
  };
}

function reportOf({ board, from, to, before, timeZone, tiles, pictureUrl, isTest }: ReportContent) {
  return { board, period: { from, to, before, timeZone }, tiles, picture: pictureUrl, test: isTest };
}

/** Generates a signing secret. */
export function createWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64");
}

/**
 * Replaces the secret. The previous one stays valid for a day, so that the receiver can change to the new one
 * meanwhile.
 */
export function rotateWebhookSecret(settings: WebhookSettings, nowMs: number): WebhookSettings {
  const untilMs = nowMs + limits.webhookSecretOverlapHours * 60 * 60 * 1_000;
  return {
    ...settings,
    secret: createWebhookSecret(),
    previousSecret: settings.secret,
    previousSecretUntil: new Date(untilMs).toISOString(),
  };
}

function validSecrets(
  { secret, previousSecret, previousSecretUntil }: WebhookSettings,
  nowMs: number,
): string[] {
  if (previousSecret === undefined || previousSecretUntil === undefined) return [secret];
  return Date.parse(previousSecretUntil) > nowMs ? [secret, previousSecret] : [secret];
}

function sign(secret: string, content: string): string {
  return `v1,${createHmac("sha256", keyOf(secret)).update(content).digest("base64")}`;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(secretPrefix.length), "base64");
}
