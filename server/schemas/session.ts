import { z } from "@hono/zod-openapi";

export const SessionInfo = z
  .object({
    id: z.string(),
    createdAt: z.string().openapi({ format: "date-time" }),
    usedAt: z.string().openapi({ format: "date-time", description: "Last use, to the day." }),
    address: z.string().nullable().openapi({ description: "Address that signed in." }),
    userAgent: z.string().nullable().openapi({ description: "`User-Agent` of the browser that signed in." }),
    isCurrent: z.boolean().openapi({ description: "Whether this request uses it." }),
  })
  .openapi("Session");
export type SessionInfo = z.infer<typeof SessionInfo>;

export const SessionList = z
  .object({ ok: z.literal(true), sessions: z.array(SessionInfo) })
  .openapi("SessionList");
