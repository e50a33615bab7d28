import { z } from "@hono/zod-openapi";
import { projectParameter, searchText } from "./event-query.ts";

export const CompletionQuery = z.strictObject({
  q: searchText.optional().openapi({ description: "A search, finished or not." }),
  at: z.coerce.number().int("must be a whole number").min(0, "must be at least 0").optional().openapi({
    type: "integer",
    description: "How many UTF-16 code units stand before the cursor, as a text field tells. Default: all.",
  }),
  project: projectParameter,
});

export const Completion = z
  .object({
    ok: z.literal(true),
    start: z.int().openapi({ description: "What is to be replaced begins after so many UTF-16 code units." }),
    end: z.int().openapi({ description: "And it ends after so many." }),
    suggestions: z.array(
      z.object({
        kind: z.enum(["field", "channel", "name", "user", "key", "value"]),
        text: z.string().openapi({ description: "To be shown." }),
        insert: z
          .string()
          .openapi({ description: "To stand in its place, in quotes where they are needed." }),
      }),
    ),
  })
  .openapi("Completion");
export type Completion = z.infer<typeof Completion>;
