import { z } from "@hono/zod-openapi";
import { limits } from "../limits.ts";
import { text } from "../validation/text.ts";

export const NewKey = z
  .strictObject({ name: text({ max: limits.keyNameCharacters, filled: true }) })
  .openapi("NewKey", { example: { name: "Production" } });

/** An API key as listed. The secret is returned only once, when the key is created. */
export const Key = z
  .object({
    id: z.string(),
    name: z.string(),
    kind: z.enum(["secret"]),
    ending: z.string().openapi({ description: "Last four characters of the key." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    lastUsedAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Accurate to the minute." }),
    revokedAt: z.string().nullable().openapi({ format: "date-time" }),
  })
  .openapi("Key");
export type Key = z.infer<typeof Key>;

export const KeyAnswer = z.object({ ok: z.literal(true), key: Key }).openapi("KeyAnswer");
export const NewKeyAnswer = z
  .object({
    ok: z.literal(true),
    key: Key,
    secret: z.string().openapi({ description: "The key. Only this response contains it." }),
  })
  .openapi("NewKeyAnswer");
export const KeyList = z.object({ ok: z.literal(true), keys: z.array(Key) }).openapi("KeyList");
