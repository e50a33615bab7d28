import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { hourlyLimit } from "../validation/hourly-limit.ts";
import { text } from "../validation/text.ts";
import { projectDestinationKinds } from "./destination-kinds.ts";
import { version } from "./version.ts";

const name = text({ max: limits.destinationNameCharacters, filled: true });
const enabled = z
  .boolean()
  .openapi({ description: "A destination that isn't enabled gets no notifications." });

// The server names the nearest kind if there is none of this name.
const projectKind = z.string().openapi({ enum: [...projectDestinationKinds] });

/** A field of the form for a kind of destination. */
const FormField = z
  .object({
    name: z.string(),
    title: z.string(),
    description: z.string().openapi({ description: "Where to get it." }),
    type: z.enum(["text", "url", "number", "boolean", "choice"]),
    choices: z.array(z.string()).optional().openapi({ description: "Of the type `choice` only." }),
    required: z.boolean(),
    secret: z.boolean().openapi({ description: "It is hidden once it is saved." }),
    readable: z.boolean().openapi({
      description:
        "Whether signed-in members who manage rules can read it. If it is no secret, everyone can.",
    }),
    default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  })
  .openapi("FormField");
export type FormField = z.infer<typeof FormField>;

export const DestinationKindList = z
  .object({
    ok: z.literal(true),
    kinds: z.array(
      z
        .object({ kind: projectKind, label: z.string(), fields: z.array(FormField) })
        .openapi("DestinationKind"),
    ),
  })
  .openapi("DestinationKindList");

/** Where a project's notifications go besides its members. */
export const ProjectDestination = z
  .object({
    id: z.string(),
    kind: projectKind,
    name: z.string(),
    enabled,
    hourlyLimit,
    settings: z.record(z.string(), z.unknown()).openapi({
      description:
        "The kind's settings, except for secrets. Signed-in members who manage rules also get a webhook's `url`.",
    }),
    secrets: z.record(z.string(), z.string()).openapi({
      description: "The last four characters of each secret that isn't in `settings`; empty if it is short.",
    }),
    deliveredAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "The last successful delivery." }),
    failingSince: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "The first failure after the last success." }),
    failure: z.string().nullable().openapi({ description: "What the last failure said." }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("ProjectDestination");
export type ProjectDestination = z.infer<typeof ProjectDestination>;

export const NewProjectDestination = z
  .strictObject({
    kind: projectKind.openapi({ description: "A kind of `GET /api/destination-kinds`." }),
    name,
    settings: z.record(z.string(), z.unknown()).openapi({ description: "The kind's fields, by name." }),
    enabled: enabled.default(true),
    hourlyLimit: hourlyLimit.default(null),
    rules: z
      .array(text({ max: 100, filled: true }))
      .max(limits.rules)
      .default([])
      .openapi({
        description: "IDs of rules that also notify it from now on. Without a rule, it gets nothing.",
      }),
  })
  .openapi("NewProjectDestination", {
    example: { kind: "ntfy", name: "On call", settings: { topic: "shop-7f3c9a" }, enabled: true },
  });
export type NewProjectDestination = z.infer<typeof NewProjectDestination>;

export const ProjectDestinationChange = z
  .strictObject({
    name,
    settings: z.record(z.string(), z.unknown()).openapi({
      description: "Settings that are left out stay as they are, also secrets. `null` removes one.",
    }),
    enabled,
    hourlyLimit,
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("ProjectDestinationChange");
export type ProjectDestinationChange = z.infer<typeof ProjectDestinationChange>;

export const ProjectDestinationResponse = z
  .object({ ok: z.literal(true), destination: ProjectDestination })
  .openapi("ProjectDestinationResponse");

export const NewProjectDestinationResponse = z
  .object({
    ok: z.literal(true),
    destination: ProjectDestination,
    signingSecret: z
      .string()
      .optional()
      .openapi({ description: "Webhooks only. No other response contains it." }),
  })
  .openapi("NewProjectDestinationResponse");

export const RotatedSecretResponse = z
  .object({
    ok: z.literal(true),
    destination: ProjectDestination,
    signingSecret: z.string().openapi({ description: "The new secret. Only this response contains it." }),
    previousValidUntil: z.string().openapi({ format: "date-time" }),
  })
  .openapi("RotatedSecretResponse");

export const ProjectDestinationList = z
  .object({ ok: z.literal(true), destinations: z.array(ProjectDestination) })
  .openapi("ProjectDestinationList");
