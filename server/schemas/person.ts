import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { text } from "../validation/text.ts";
import { User, UserProperties } from "./user.ts";
import { userIdText } from "./user-rule.ts";

const userId = text({ ...userIdText, filled: true });
export const signature = z
  .string()
  .regex(/^[0-9a-f]{64}$/i, "must be 64 hexadecimal digits")
  .openapi({
    description:
      "HMAC-SHA256 of the user ID with the key's secret for signatures, in hexadecimal. Publishable keys need it, unless their setting `identify` is `unsigned`.",
  });

export const Identification = z
  .strictObject({
    userId: userId.openapi({ description: "The ID of a known user, who is signed in to your application." }),
    anonymousId: userId.optional().openapi({
      description:
        "The ID that their events had before. It becomes an ID of the same person, with its past events.",
    }),
    properties: UserProperties.optional().openapi({
      description: "Merged into the user's; `null` removes one. Needs a secret key.",
    }),
    signature: signature.optional(),
  })
  .openapi("Identification", {
    example: { userId: "user-42", anonymousId: "0193e2b2-6d3f-7000-8000-2f1f6a9c1c1e" },
  });
export type Identification = z.infer<typeof Identification>;

export const Alias = z
  .strictObject({
    userId: userId.openapi({ description: "An ID of the person who stays." }),
    previousId: userId.openapi({ description: "An anonymous ID, which becomes an ID of that person." }),
    signature: signature.optional(),
  })
  .openapi("Alias", { example: { userId: "user-42", previousId: "visitor-7" } });
export type Alias = z.infer<typeof Alias>;

export const IdentifiedResponse = z
  .object({
    ok: z.literal(true),
    userId: z.string().openapi({ description: "The ID that was identified." }),
    joined: z.boolean().optional().openapi({
      description:
        "Whether the other ID was joined to it now. False if they were one person before. Only for callers that may read users.",
    }),
  })
  .openapi("IdentifiedResponse");

export const Merge = z
  .strictObject({
    userId: userId.openapi({ description: "Any ID of the person who is merged into this one." }),
    force: z.boolean().optional().openapi({
      description: "Merges two known users. Without it, one of them must be anonymous.",
    }),
  })
  .openapi("Merge", { example: { userId: "visitor-7" } });
export type Merge = z.infer<typeof Merge>;

/** Of callers that may not read users, only what they sent. */
export const MergeResponse = z
  .object({ ok: z.literal(true), user: z.union([User, User.pick({ userId: true })]) })
  .openapi("MergeResponse");

export const SplitResponse = z
  .object({
    ok: z.literal(true),
    userId: z.string().openapi({ description: "The ID that was split off: now a user of its own." }),
    ids: z.array(z.string()).max(limits.idsOfPerson).optional().openapi({
      description:
        "The IDs of that user: this one, and those that were joined to it before. Only for callers that may read users.",
    }),
    from: z.string().optional().openapi({
      description:
        "The main ID of the user that it was split off from. Only for callers that may read users.",
    }),
  })
  .openapi("SplitResponse");
