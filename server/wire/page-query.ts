import { z } from "@hono/zod-openapi";

/** How many entries a page has. */
export function pageLimit({
  max,
  fallback,
  description,
}: {
  max: number;
  fallback: number;
  description: string;
}) {
  return z.coerce
    .number()
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(max, `must be at most ${max}`)
    .default(fallback)
    .openapi({ type: "integer", description });
}

/** The cursor of a listing in the order of numeric IDs. */
export const pageCursor = z
  .string()
  .regex(/^\d{1,15}$/, 'must be the "nextCursor" of an earlier page')
  .optional()
  .openapi({ description: "The `nextCursor` of the previous page." });
