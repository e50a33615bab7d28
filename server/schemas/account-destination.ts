import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { hourlyLimit } from "../validation/hourly-limit.ts";
import { text } from "../validation/text.ts";
import { accountDestinationKinds } from "./destination-kinds.ts";

export type AccountDestinationKind = (typeof accountDestinationKinds)[number];

/** Where an account is notified. Each account has one `dashboard`, one `email`, and a `browser` for each device. */
export const Destination = z
  .object({
    id: z.string(),
    kind: z.enum(accountDestinationKinds),
    label: z.string().openapi({ description: "The email address or the browser's name." }),
    endpoint: z.string().optional().openapi({ description: "Browsers only: the push endpoint." }),
    enabled: z.boolean(),
    hourlyLimit: hourlyLimit.openapi({
      description: "How many messages it gets in an hour. Null: no limit. Always null for the dashboard.",
    }),
    verified: z.boolean().optional().openapi({
      description:
        "Email only: whether the address was confirmed. Until then, it gets no notifications. Turning it on sends a link to confirm it.",
    }),
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Destination");
export type Destination = z.infer<typeof Destination>;

/** A browser's `PushSubscription.toJSON()` and a name for the device. Sending it again updates the destination. */
export const NewDestination = z
  .strictObject({
    kind: z.literal("browser"),
    label: text({ max: limits.accountNameCharacters, filled: true }),
    subscription: z.object({
      endpoint: z.url().max(limits.pushEndpointCharacters),
      keys: z.object({ p256dh: z.string().max(200), auth: z.string().max(100) }),
    }),
  })
  .openapi("NewDestination");

/** Fields that are left out stay as they are. */
export const DestinationChange = z
  .strictObject({ enabled: z.boolean(), hourlyLimit })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("DestinationChange");
export type DestinationChange = z.infer<typeof DestinationChange>;
export const DestinationResponse = z
  .object({ ok: z.literal(true), destination: Destination })
  .openapi("DestinationResponse");
export const DestinationList = z
  .object({ ok: z.literal(true), destinations: z.array(Destination) })
  .openapi("DestinationList");

/** Result of a test message, sent at once and without retries. */
export const TestResponse = z
  .object({ ok: z.literal(true), delivered: z.boolean(), detail: z.string() })
  .openapi("TestResponse");
