import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { projectParameter, searchText } from "../event/event-query.ts";
import { wholeNumber } from "../validation/whole-number.ts";

export const CompletionQuery = z.strictObject({
  q: searchText.optional().openapi({ description: "A search, complete or not." }),
  at: wholeNumber(0, 2 * limits.searchCharacters)
    .optional()
    .openapi({
      description: "Cursor position in UTF-16 code units. Default: the end.",
    }),
  project: projectParameter,
});

export const Completion = z
  .object({
    ok: z.literal(true),
    start: z.int().openapi({ description: "Start of the text to replace, in UTF-16 code units." }),
    end: z.int().openapi({ description: "End of the text to replace, in UTF-16 code units." }),
    suggestions: z.array(
      z.object({
        kind: z.enum(["field", "channel", "name", "tag", "user", "key", "value"]),
        text: z.string().openapi({
          description: "The text to show. Of a user with a name, the name; of a tag, its value.",
        }),
        detail: z
          .string()
          .optional()
          .openapi({ description: "Shown beside it: the ID of a user with a name, the key of a tag." }),
        events: z.int().optional().openapi({
          description:
            "How many events have it, at any time; up to five seconds old. Missing for fields and keys, and if counting takes too long.",
        }),
        insert: z.string().openapi({ description: "The text to insert, quoted if needed." }),
      }),
    ),
  })
  .openapi("Completion");
export type Completion = z.infer<typeof Completion>;
