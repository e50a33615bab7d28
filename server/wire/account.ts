import { z } from "@hono/zod-openapi";
import { limits } from "../limits.ts";
import { text } from "../validation/text.ts";
import { Project } from "./project.ts";

export const accountTexts = {
  name: text({ max: limits.accountNameCharacters, filled: true }),
  email: z
    .email("must be an email address, such as ada@example.com")
    .max(limits.emailCharacters)
    .openapi({ format: "email" }),
  password: z
    .string()
    .min(limits.passwordCharactersMin, `must have at least ${limits.passwordCharactersMin} characters`)
    .max(limits.passwordCharactersMax, `must have at most ${limits.passwordCharactersMax} characters`),
};

export const SetupState = z
  .object({
    ok: z.literal(true),
    needed: z.boolean().openapi({ description: "True if no account exists yet." }),
  })
  .openapi("SetupState");

/** Sent by the first-run page: the one-time token of the setup link, and the owner's account. */
export const Setup = z
  .strictObject({
    token: z.string(),
    email: accountTexts.email,
    password: accountTexts.password,
    name: accountTexts.name.optional(),
  })
  .openapi("Setup");

export const SetupResponse = z
  .object({
    ok: z.literal(true),
    project: Project,
    secret: z
      .string()
      .openapi({ description: "The project's first API key. Only this response contains it." }),
  })
  .openapi("SetupResponse");

export const Me = z
  .object({
    ok: z.literal(true),
    account: z.object({ id: z.string(), name: z.string(), email: z.string() }),
    projects: z.array(Project),
    unread: z.int().openapi({ description: "Number of unread notifications." }),
    baseUrl: z.string().openapi({ description: "Public address of the server, without a trailing slash." }),
    vapidPublicKey: z.string().openapi({ description: "For `PushManager.subscribe` (RFC 8292)." }),
    emailAvailable: z.boolean().openapi({ description: "Whether email is configured." }),
    version: z.string(),
  })
  .openapi("Me");
export type Me = z.infer<typeof Me>;
