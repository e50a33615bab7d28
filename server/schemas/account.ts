import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { text } from "../validation/text.ts";
import { Project } from "./project.ts";
import { version } from "./version.ts";

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
    ownsInstallation: z
      .boolean()
      .openapi({ description: "Whether the account may see the server's status." }),
  })
  .openapi("Me");
export type Me = z.infer<typeof Me>;

export const Passkey = z
  .object({
    id: z.string(),
    name: z.string(),
    createdAt: z.string().nullable().openapi({ format: "date-time" }),
  })
  .openapi("Passkey");
export type Passkey = z.infer<typeof Passkey>;

export const PasskeyChange = z
  .strictObject({ name: text({ max: limits.passkeyNameCharacters, filled: true }) })
  .openapi("PasskeyChange");

/** The signed-in account, in the settings of the account. */
export const AccountResponse = z
  .object({
    ok: z.literal(true),
    account: z.object({
      id: z.string(),
      name: z.string(),
      email: z.string(),
      hasPassword: z.boolean().openapi({ description: "False if it only signs in with OpenID Connect." }),
      twoFactorEnabled: z.boolean(),
      passkeys: z.array(Passkey).openapi({ description: "The oldest first." }),
      version: version.openapi({
        description: "Changes with the name. To change only this version, send it as `If-Match`.",
      }),
      createdAt: z.string().openapi({ format: "date-time" }),
    }),
  })
  .openapi("AccountResponse");
export type AccountResponse = z.infer<typeof AccountResponse>;

export const AccountChange = z.strictObject({ name: accountTexts.name }).openapi("AccountChange");

const currentPassword = z
  .string()
  .max(limits.passwordCharactersMax)
  .optional()
  .openapi({ description: "Required, unless the account has none and signed in within the last hour." });

export const EmailChange = z
  .strictObject({ email: accountTexts.email, password: currentPassword })
  .openapi("EmailChange");

export const EmailChangeResponse = z
  .object({
    ok: z.literal(true),
    confirmation: z.boolean().openapi({
      description:
        "True if email is configured: the address changes when the link sent to it is opened. False if it has changed.",
    }),
  })
  .openapi("EmailChangeResponse");

export const LinkToken = z.strictObject({ token: z.string() }).openapi("LinkToken");

export const EmailConfirmed = z.object({ ok: z.literal(true), email: z.string() }).openapi("EmailConfirmed");

export const EmailRestored = z
  .object({
    ok: z.literal(true),
    email: z.string(),
    token: z.string().openapi({ description: "Resets the password, once, within an hour." }),
  })
  .openapi("EmailRestored");

/** Sent with the token from a reset link. */
export const PasswordReset = z
  .strictObject({ token: z.string(), newPassword: accountTexts.password })
  .openapi("PasswordReset");

export const AccountDeletion = z.strictObject({ password: currentPassword }).openapi("AccountDeletion");

/** What the sign-in page offers. */
export const SignInOptions = z
  .object({
    ok: z.literal(true),
    signUp: z.boolean().openapi({ description: "Whether anyone may create an account." }),
    emailAvailable: z.boolean().openapi({ description: "Whether passwords can be reset by email." }),
    passkeyHost: z
      .string()
      .openapi({ description: "Host name that passkeys belong to. They don't work under others." }),
    provider: z.string().nullable().openapi({ description: "Name of the OpenID Connect provider." }),
  })
  .openapi("SignInOptions");
export type SignInOptions = z.infer<typeof SignInOptions>;

export const ProviderSignIn = z
  .strictObject({
    next: z
      .string()
      .max(2_000)
      .optional()
      .openapi({ description: "Path of the dashboard's page to go on to." }),
  })
  .openapi("ProviderSignIn");

export const ProviderSignInResponse = z
  .object({ ok: z.literal(true), url: z.string() })
  .openapi("ProviderSignInResponse");

export const PasswordResetRequest = z
  .strictObject({ email: accountTexts.email })
  .openapi("PasswordResetRequest");

export const SignUp = z
  .strictObject({
    email: accountTexts.email,
    password: accountTexts.password.optional(),
    name: accountTexts.name.optional(),
  })
  .openapi("SignUp");

export const SignUpConfirmation = z
  .strictObject({
    token: z.string(),
    password: accountTexts.password,
    name: accountTexts.name.optional(),
  })
  .openapi("SignUpConfirmation");

export const SignUpResponse = z
  .object({
    ok: z.literal(true),
    confirmation: z
      .boolean()
      .openapi({ description: "True if a link was sent that creates the account. False if it exists now." }),
  })
  .openapi("SignUpResponse");
export type SignUpResponse = z.infer<typeof SignUpResponse>;
