import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { roles } from "../core/permissions.ts";
import { accountTexts } from "./account.ts";
import { Project } from "./project.ts";

export const NewInvitation = z
  .strictObject({
    email: accountTexts.email.optional().openapi({
      description:
        "Whom to invite. Only an account with this address can accept. Default: anyone with the link.",
    }),
    role: z.enum(roles).openapi({ description: "At most your own." }),
    expiresInDays: z
      .int("must be a whole number of days")
      .min(1, "must be at least 1")
      .max(limits.invitationDays, `must be at most ${limits.invitationDays}`)
      .optional()
      .openapi({ description: `Default: ${limits.invitationDaysDefault}.` }),
  })
  .openapi("NewInvitation", { example: { email: "ada@example.com", role: "member" } });
export type NewInvitation = z.infer<typeof NewInvitation>;

/** An invitation as listed. The link is returned only once. */
export const Invitation = z
  .object({
    id: z.string(),
    email: z.string().nullable().openapi({ description: "Null: anyone with the link can accept." }),
    role: z.enum(roles),
    invitedBy: z.string().openapi({ description: "Name of the member who sent it." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    expiresAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Invitation");
export type Invitation = z.infer<typeof Invitation>;

export const NewInvitationResponse = z
  .object({
    ok: z.literal(true),
    invitation: Invitation,
    link: z.string().openapi({ description: "Works once. Only this response contains it." }),
    emailed: z.boolean().openapi({ description: "Whether the mail server accepted an email with the link." }),
    detail: z.string().openapi({ description: "What became of the email, as a sentence." }),
  })
  .openapi("NewInvitationResponse");
export type NewInvitationResponse = z.infer<typeof NewInvitationResponse>;
export const InvitationList = z
  .object({ ok: z.literal(true), invitations: z.array(Invitation) })
  .openapi("InvitationList");

/** What somebody who has the link learns. */
export const InvitationPreview = z
  .object({
    ok: z.literal(true),
    project: z.string().openapi({ description: "Name of the project." }),
    invitedBy: z.string(),
    role: z.enum(roles),
    email: z.string().nullable(),
    expiresAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("InvitationPreview");
export type InvitationPreview = z.infer<typeof InvitationPreview>;

export const InvitationSignUp = z
  .strictObject({
    email: accountTexts.email.optional().openapi({
      description: "Required, unless the invitation names an address. Then it must be that one.",
    }),
    password: accountTexts.password,
    name: accountTexts.name.optional(),
  })
  .openapi("InvitationSignUp");
export type InvitationSignUp = z.infer<typeof InvitationSignUp>;

export const JoinResponse = z.object({ ok: z.literal(true), project: Project }).openapi("JoinResponse");
