import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { keyKinds, scopes } from "../core/permissions.ts";
import { text } from "../validation/text.ts";
import { keyIdentifies } from "./key-identify.ts";
import { version } from "./version.ts";

const keyTexts = {
  identify: z.enum(keyIdentifies).openapi({
    description:
      "For publishable keys: whether joining an anonymous ID to a user needs a signature of the user ID (`signed`, the default). With `unsigned`, every visitor of the page can join any anonymous ID to any user.",
  }),
  name: text({ max: limits.keyNameCharacters, filled: true }),
  scopes: z
    .array(z.enum(scopes))
    .min(1, "must have at least one scope")
    .transform((chosen) => scopes.filter((scope) => chosen.includes(scope)))
    .openapi({ description: "`ingest` sends events, `read` reads them, `manage` changes and deletes." }),
  origins: z
    .array(
      z.string().refine(isOrigin, "must be an origin, such as https://example.com or https://*.example.com"),
    )
    .max(limits.keyOrigins, `must be at most ${limits.keyOrigins}`)
    .openapi({
      description:
        "Origins of web pages that may use a publishable key; `https://*.example.com` allows subdomains.",
    }),
  expiresAt: z.iso
    .datetime({ offset: true, error: "must be a time in ISO 8601, such as 2030-01-31T12:00:00Z" })
    .refine((time) => Date.parse(time) > Date.now(), "must be in the future")
    .nullable()
    .openapi({ description: "From when the key is invalid. Null: never." }),
  eventsPerSecond: z
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(limits.keyEventsPerSecond, `must be at most ${limits.keyEventsPerSecond}`)
    .nullable()
    .openapi({
      description: "Events that the key may send a second, on average over ten seconds. Null is unlimited.",
    }),
};

export const NewKey = z
  .strictObject({
    name: keyTexts.name,
    kind: z.enum(keyKinds).optional().openapi({
      description:
        "`secret` is for servers (the default). `publishable` only sends events and may be in a web page.",
    }),
    scopes: keyTexts.scopes
      .optional()
      .openapi({ description: "Of a secret key. Default: `ingest` and `read`." }),
    origins: keyTexts.origins.optional(),
    expiresAt: keyTexts.expiresAt.optional(),
    identify: keyTexts.identify.optional(),
    eventsPerSecond: keyTexts.eventsPerSecond.optional().openapi({
      description: `Default: unlimited for a secret key, ${limits.publishableEventsPerSecond} for a publishable one.`,
    }),
  })
  .refine(({ kind, scopes }) => kind !== "publishable" || scopes === undefined, {
    path: ["scopes"],
    message: "can't be chosen for a publishable key: it only sends events",
  })
  .refine(({ kind, origins }) => kind === "publishable" || origins === undefined, {
    path: ["origins"],
    message: "are for publishable keys only",
  })
  .refine(({ kind, identify }) => kind === "publishable" || identify === undefined, {
    path: ["identify"],
    message: "is for publishable keys only: secret keys need no signature",
  })
  .openapi("NewKey", { example: { name: "Production" } });
export type NewKey = z.infer<typeof NewKey>;

/** Fields that are left out stay as they are. */
export const KeyChange = z
  .strictObject({
    name: keyTexts.name.optional(),
    scopes: keyTexts.scopes.optional().openapi({ description: "For secret keys only." }),
    origins: keyTexts.origins.optional(),
    expiresAt: keyTexts.expiresAt.optional(),
    eventsPerSecond: keyTexts.eventsPerSecond.optional(),
    identify: keyTexts.identify.optional(),
  })
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("KeyChange");
export type KeyChange = z.infer<typeof KeyChange>;

export const KeyRotation = z
  .strictObject({
    overlapHours: z
      .int("must be a whole number of hours")
      .min(0, "must be at least 0")
      .max(limits.keyOverlapHours, `must be at most ${limits.keyOverlapHours}`)
      .optional()
      .openapi({
        description: `How long the old key stays valid. Default: ${limits.keyOverlapHoursDefault}.`,
      }),
  })
  .openapi("KeyRotation");

/** An API key as listed. The secret is returned only once, when the key is created. */
export const Key = z
  .object({
    id: z.string(),
    name: z.string(),
    kind: z.enum(keyKinds),
    scopes: z.array(z.enum(scopes)),
    origins: z.array(z.string()).openapi({ description: "Empty allows all." }),
    eventsPerSecond: z.int().nullable(),
    identify: z.enum(keyIdentifies).nullable().openapi({
      description: "Whether a publishable key needs a signature to join IDs. Null for secret keys.",
    }),
    hasIdentitySecret: z
      .boolean()
      .openapi({ description: "Whether the key has a secret for signatures of user IDs." }),
    ending: z.string().openapi({ description: "Last four characters of the key." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    expiresAt: z.string().nullable().openapi({ format: "date-time" }),
    lastUsedAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Accurate to the minute." }),
    lastUsedAddress: z.string().nullable().openapi({ description: "The client's IP address." }),
    revokedAt: z.string().nullable().openapi({ format: "date-time" }),
    replacedBy: z
      .string()
      .nullable()
      .openapi({ description: "ID of the key that it was rotated to. It stays valid until it expires." }),
    version,
  })
  .openapi("Key");
export type Key = z.infer<typeof Key>;

export const KeyResponse = z.object({ ok: z.literal(true), key: Key }).openapi("KeyResponse");
export const NewKeyResponse = z
  .object({
    ok: z.literal(true),
    key: Key,
    secret: z.string().openapi({ description: "The key. Only this response contains it." }),
  })
  .openapi("NewKeyResponse");
export const IdentitySecretResponse = z
  .object({
    ok: z.literal(true),
    key: Key,
    identitySecret: z.string().openapi({
      description:
        "The secret for signatures of user IDs. Only this response contains it. Keep it on your server.",
    }),
  })
  .openapi("IdentitySecretResponse");
export const RotatedKeyResponse = NewKeyResponse.extend({
  replaced: Key.openapi({ description: "The old key." }),
}).openapi("RotatedKeyResponse");
export const KeyList = z.object({ ok: z.literal(true), keys: z.array(Key) }).openapi("KeyList");

/** Whether a text is an origin (RFC 6454), possibly with `*.` for any subdomain. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text.replace("://*.", "://any."));
  return url !== null && /^https?:$/.test(url.protocol) && text.replace("://*.", "://any.") === url.origin;
}
