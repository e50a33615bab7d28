import { z } from "@hono/zod-openapi";

/** The version of something that two people can edit (`edit-version.ts`). */
export const version = z.string().openapi({
  description: "Changes with each edit. To change only this version, send it as `If-Match`.",
});
