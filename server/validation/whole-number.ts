import { z } from "@hono/zod-openapi";

/** A whole number in a query, with its bounds in the API description. */
export function wholeNumber(min: number, max: number) {
  return z.coerce
    .number()
    .int("must be a whole number")
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .openapi({ type: "integer", minimum: min, maximum: max });
}
