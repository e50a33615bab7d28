import { z } from "@hono/zod-openapi";

export const SearchAlternatives = z
  .object({
    ok: z.literal(true),
    alternatives: z.array(
      z.object({
        kind: z.enum(["instead", "without", "anyTime"]).openapi({
          description:
            "`instead`: with another term in place of one that finds nothing at any time. `without`: without one of the terms. `anyTime`: the same without `from` and `to`.",
        }),
        term: z.string().nullable().openapi({
          description: "The term that is replaced or left out, as in a search; null if none is.",
        }),
        by: z
          .string()
          .optional()
          .openapi({ description: "With `instead`, the other term.", example: "channel:payments" }),
        detail: z.string().optional().openapi({ description: "What people call the user of that term." }),
        anyTime: z.boolean().openapi({
          description: "`from` and `to` are left out: events of any time are counted.",
        }),
        events: z.int().nullable().openapi({
          description: "How many events it finds. Null if there are some, and counting them takes too long.",
        }),
        q: z.string().openapi({
          description:
            "All terms as a search, for `q` of other operations, with the same `from` and `to` unless `anyTime`. Empty if every event matches.",
        }),
      }),
    ),
  })
  .openapi("SearchAlternatives");
export type SearchAlternatives = z.infer<typeof SearchAlternatives>;
export type SearchAlternative = SearchAlternatives["alternatives"][number];
