import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts, NewEvent } from "../event/event.ts";
import { text } from "../validation/text.ts";
import { version } from "./version.ts";

/** Who sends to a webhook, which decides how its requests are verified. */
const webhookSources = [
  "plain",
  "hmac",
  "standard-webhooks",
  "stripe",
  "github",
  "sentry",
  "alertmanager",
  "grafana",
  "uptime-kuma",
  "vercel",
  "netlify",
  "heroku",
  "cloudflare",
] as const;
export type WebhookSource = (typeof webhookSources)[number];

const webhookOutcomes = ["recorded", "duplicate", "ignored", "rejected"] as const;
export type WebhookOutcome = (typeof webhookOutcomes)[number];

const template = text({ max: limits.webhookExpressionCharacters, lines: true });
const condition = text({ max: limits.webhookExpressionCharacters });

export const WebhookMapping = z
  .strictObject({
    when: condition.optional().openapi({
      description: "A condition. Requests that don't meet it are ignored. Without it, none are.",
      example: 'type == "invoice.paid" and data.amount > 0',
    }),
    name: template.openapi({
      description: "The event's name, a template.",
      example: 'Invoice {{status ?? "changed"}}',
    }),
    userId: template.optional(),
    icon: template.optional(),
    description: template.optional().openapi({ description: "Markdown." }),
    createdAt: template
      .optional()
      .openapi({ description: "ISO 8601 with an offset, or seconds or milliseconds since 1970." }),
    id: template.optional().openapi({
      description: "What tells deliveries apart. A request with the same text is never recorded again.",
    }),
    notify: z
      .union([z.boolean(), condition])
      .optional()
      .openapi({ description: "`true`, or a condition. Default: false." }),
    tags: z
      .record(text(eventTexts.tagKey), template)
      .refine((tags) => Object.keys(tags).length <= limits.tags, `has more than ${limits.tags} tags`)
      .optional()
      .openapi({ description: "Templates. Tags without a value are left out.", maxProperties: limits.tags }),
  })
  .openapi("WebhookMapping", {
    example: {
      when: 'status == "paid"',
      name: "Invoice paid",
      userId: "{{customer.id}}",
      tags: { amount: "{{amount}}", plan: '{{items[0].plan ?? "none"}}' },
    },
  });
export type WebhookMapping = z.infer<typeof WebhookMapping>;

const name = text({ max: limits.webhookNameCharacters, filled: true });
const source = z.enum(webhookSources).openapi({
  description:
    "Who sends. `hmac` verifies an HMAC-SHA256 of the body in a header; `standard-webhooks`, `stripe`, `github`, `sentry` and `vercel` verify requests as these services sign them. `grafana` and `heroku` do if the webhook has a secret. The others take requests of whoever knows the address. Requests of `alertmanager`, `grafana`, `vercel`, `netlify`, `heroku` and `cloudflare` have many alerts or log lines, of which each is an event.",
});
const channel = text(eventTexts.channel);
const mapping = WebhookMapping.nullable().openapi({
  description:
    "Null for the events that a source has ready: all have but `plain`, `hmac` and `standard-webhooks`.",
});
const signatureHeader = z
  .string()
  .max(limits.webhookHeaderCharacters, `must have at most ${limits.webhookHeaderCharacters} characters`)
  .regex(/^[\w-]+$/, "must be the name of a header")
  .openapi({ description: "Of `hmac` only. Default: `x-signature`." });
const secret = z
  .string()
  .min(8, "must have at least 8 characters")
  .max(limits.webhookSecretCharacters, `must have at most ${limits.webhookSecretCharacters} characters`)
  .regex(/^[\x21-\x7e]+$/, "must have printable ASCII characters only, without spaces")
  .openapi({ description: "The signing secret. It is stored encrypted and never returned." });

export const Webhook = z
  .object({
    id: z.string(),
    name: z.string(),
    source,
    channel: z.string(),
    mapping,
    signatureHeader: z.string().nullable(),
    hasSecret: z
      .boolean()
      .openapi({ description: "Without its secret, requests that need one are refused." }),
    hasUrl: z.boolean().openapi({
      description:
        "Whether its address can be shown again. Addresses that were made before Tidings kept them can't; replace those.",
    }),
    receivedAt: z.string().nullable().openapi({ format: "date-time", description: "The last request." }),
    lastOutcome: z
      .enum(webhookOutcomes)
      .nullable()
      .openapi({ description: "What became of the last request; null if none is kept." }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Webhook");
export type Webhook = z.infer<typeof Webhook>;

export const NewWebhook = z
  .strictObject({
    name,
    source,
    channel,
    mapping: mapping.default(null),
    signatureHeader: signatureHeader.optional(),
    secret: secret.optional(),
  })
  .openapi("NewWebhook", {
    example: { name: "Shop payments", source: "stripe", channel: "payments", mapping: null },
  });
export type NewWebhook = z.infer<typeof NewWebhook>;

export const WebhookChange = z
  .strictObject({ name, channel, mapping, signatureHeader, secret })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("WebhookChange");
export type WebhookChange = z.infer<typeof WebhookChange>;

export const WebhookList = z
  .object({ ok: z.literal(true), webhooks: z.array(Webhook) })
  .openapi("WebhookList");

export const WebhookResponse = z.object({ ok: z.literal(true), webhook: Webhook }).openapi("WebhookResponse");

export const WebhookAddressResponse = z
  .object({
    ok: z.literal(true),
    webhook: Webhook,
    url: z.string().openapi({
      description: "The address to send to. Whoever has it can send.",
    }),
  })
  .openapi("WebhookAddressResponse");

export const WebhookUrlResponse = z
  .object({ ok: z.literal(true), url: z.string().openapi({ description: "The address to send to." }) })
  .openapi("WebhookUrlResponse");

export const WebhookRequest = z
  .object({
    id: z.string(),
    body: z.string().nullable().openapi({ description: "As JSON; null if it was too long to keep." }),
    headers: z.record(z.string(), z.string()),
    outcome: z.enum(webhookOutcomes),
    eventId: z.string().nullable(),
    detail: z.string().nullable().openapi({ description: "Why it was rejected." }),
    receivedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("WebhookRequest");
export type WebhookRequest = z.infer<typeof WebhookRequest>;

export const WebhookRequestList = z
  .object({ ok: z.literal(true), requests: z.array(WebhookRequest) })
  .openapi("WebhookRequestList");

export const WebhookPreview = z
  .strictObject({
    source,
    channel,
    mapping,
    body: z
      .string()
      .max(limits.webhookRequestCharacters)
      .optional()
      .openapi({ description: "The body of a request, as text. Leave it out to use a kept request." }),
    headers: z.record(z.string(), z.string()).optional(),
    request: z.string().optional().openapi({ description: "The ID of a kept request, instead of `body`." }),
  })
  .refine(({ body, request }) => (body === undefined) !== (request === undefined), {
    path: ["body"],
    message: "or a request must be sent, and not both",
  })
  .openapi("WebhookPreview", {
    example: {
      source: "plain",
      channel: "payments",
      mapping: { name: "Invoice {{status}}", tags: { amount: "{{amount}}" } },
      body: '{"status":"paid","amount":49}',
    },
  });
export type WebhookPreview = z.infer<typeof WebhookPreview>;

export const WebhookPreviewResponse = z
  .object({
    ok: z.literal(true),
    outcome: z.enum(["recorded", "ignored", "rejected"]),
    event: NewEvent.optional().openapi({ description: "What would be recorded." }),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).openapi({
      description: "Why it would be rejected: mistakes in the mapping, the body or the event.",
    }),
  })
  .openapi("WebhookPreviewResponse");
export type WebhookPreviewResponse = z.infer<typeof WebhookPreviewResponse>;

export const ReceivedResponse = z
  .object({
    ok: z.literal(true),
    outcome: z.enum(["recorded", "duplicate", "ignored"]),
    id: z.string().optional().openapi({
      description: "The event's ID, unless it was ignored; of several events, the first one's.",
    }),
  })
  .openapi("ReceivedResponse");
