import { z } from "@hono/zod-openapi";
import { roles } from "../core/permissions.ts";
import { Project } from "./project.ts";
import { version } from "./version.ts";

export const Member = z
  .object({
    id: z.string().openapi({ description: "The account's ID." }),
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    version,
    joinedAt: z.string().openapi({ format: "date-time" }),
    lastSeenAt: z.string().nullable().openapi({
      format: "date-time",
      description: "When the account last signed in or changed something, accurate to the day.",
    }),
  })
  .openapi("Member");
export type Member = z.infer<typeof Member>;

export const MemberChange = z.strictObject({ role: z.enum(roles) }).openapi("MemberChange");

export const Transfer = z
  .strictObject({
    accountId: z.string().openapi({ description: "The member who becomes the owner." }),
  })
  .openapi("Transfer");

export const MemberResponse = z.object({ ok: z.literal(true), member: Member }).openapi("MemberResponse");
export const MemberList = z.object({ ok: z.literal(true), members: z.array(Member) }).openapi("MemberList");
export const TransferResponse = z
  .object({ ok: z.literal(true), project: Project })
  .openapi("TransferResponse");
