import type { Config } from "../config/config.ts";
import { problem } from "../core/problems.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import {
  PasswordReset,
  PasswordResetRequest,
  ProviderSignIn,
  ProviderSignInResponse,
  Setup,
  SetupResponse,
  SetupState,
  SignInOptions,
  SignUp,
  SignUpConfirmation,
  SignUpResponse,
} from "../schemas/account.ts";
import { Done } from "../schemas/done.ts";
import type { Store } from "../storage/store.ts";
import type { AccountEmails } from "./account-emails.ts";
import { consumeLink, createLink } from "./account-links.ts";
import { type Auth, signInResponse } from "./auth.ts";
import { callAuth } from "./auth-call.ts";
import { consumePoint } from "./consume-point.ts";
import { createAccount, hasAccounts } from "./create-account.ts";
import { providerUnavailable } from "./oidc-provider.ts";
import { checkNewPassword } from "./password-rules.ts";
import type { PasswordQueue } from "./passwords.ts";
import type { Reauthentication } from "./reauthenticate.ts";
import { resetPassword } from "./recover-account.ts";
import { claimSetup } from "./setup.ts";

type Deps = {
  config: Config;
  baseUrl: string;
  store: Store;
  auth: Auth;
  passwords: PasswordQueue;
  reauthentication: Reauthentication;
  /** Null if email isn't configured. */
  emails: AccountEmails | null;
  failures: { taskFailed: (error: unknown) => void };
  /** Ends the live streams of ended sessions at once. */
  streamAuthorizer: { check: () => Promise<void> };
};

/**
 * Routes for people without a session: the first account, sign-up, and a new password.
 *
 * Invariant: responses to people without a session never tell whether an account exists. Sign-up without email creates
 * the account at once, so it tells, and is limited by client. Checked by `server/auth/sign-up.test.ts`.
 *
 * Invariant: what depends on whether an account exists happens after the response, so its time tells nothing. Not
 * checked by a test: on a busy machine, times of equal requests differ too much to compare.
 */
export function addSignUpRoutes(routes: Routes, deps: Deps): void {
  const { config, baseUrl, auth, passwords, reauthentication, emails, failures, streamAuthorizer } = deps;
  const { control } = deps.store;
  /** Emails that anyone can make us send, by the client's address and by the recipient. */
  const emailsByClient = deps.store.rateLimiter({ name: "emails-by-client", points: 10, seconds: 600 });
  const emailsByRecipient = deps.store.rateLimiter({ name: "emails-by-recipient", points: 3, seconds: 600 });
  const signUpsByClient = deps.store.rateLimiter({ name: "sign-ups-by-client", points: 10, seconds: 600 });

  routes.add(
    {
      method: "get",
      path: "/api/setup",
      by: "anyone",
      tag: "Account",
      summary: "Check whether setup is needed",
      response: SetupState,
    },
    async () => ({ needed: !(await hasAccounts(control)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/setup",
      operationId: "setUp",
      by: "anyone",
      tag: "Account",
      summary: "Create the owner's account, a project and its first API key",
      description:
        "Takes the one-time token from the link on the server's console. The response signs the owner in.",
      body: Setup,
      status: 201,
      response: SetupResponse,
      problems: [403, 409],
    },
    async ({ request, actor, body }) => {
      const { project, secret } = await claimSetup(control, body.token, body, passwords, actor);
      return signInResponse(auth, request, actor, body, {
        ok: true,
        project,
        secret,
      } satisfies typeof SetupResponse._output);
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/sign-in",
      operationId: "getSignInOptions",
      by: "anyone",
      tag: "Account",
      summary: "Get the ways to sign in",
      response: SignInOptions,
    },
    async () => ({
      signUp: config.signUp === "open",
      emailAvailable: emails !== null,
      passkeyHost: new URL(baseUrl).hostname,
      provider: config.oidcIssuer === null ? null : config.oidcName,
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/sign-in/provider",
      operationId: "signInWithProvider",
      by: "anyone",
      tag: "Account",
      summary: "Sign in with the OpenID Connect provider",
      description:
        "Returns the provider's URL to open. The provider leads back to `next`, or to the sign-in page with `?error=`.",
      body: ProviderSignIn,
      response: ProviderSignInResponse,
      problems: [404],
    },
    async ({ request, body }) => {
      if (config.oidcIssuer === null)
        throw problem("route-unknown", { detail: "This server has no OpenID Connect provider." });
      const next = URL.parse(body.next ?? "/", baseUrl);
      const callbackURL = next?.origin === baseUrl ? next.href : `${baseUrl}/`;
      const { api } = await auth.withProvider();
      const response = await callAuth(() =>
        api.signInSocial({
          body: { provider: "oidc", callbackURL, errorCallbackURL: `${baseUrl}/sign-in` },
          headers: request.headers,
          asResponse: true,
        }),
      );
      const { url } = (await response.json()) as { url?: string };
      if (!response.ok || !url) throw providerUnavailable(config.oidcName);
      const headers = new Headers();
      for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie);
      return Response.json({ ok: true, url } satisfies typeof ProviderSignInResponse._output, { headers });
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/password-reset",
      operationId: "requestPasswordReset",
      by: "anyone",
      tag: "Account",
      summary: "Send a link to choose a new password",
      description: "The response is the same whether or not there is an account with this address.",
      body: PasswordResetRequest,
      response: Done,
      problems: [409, 429],
    },
    async ({ actor, body }) => {
      if (!emails) {
        throw problem("email-unavailable", {
          detail:
            "This server can't send email. Its operator can make a link: tidings account reset-password.",
        });
      }
      const email = body.email.toLowerCase();
      await consumePoint(emailsByClient, clientNetwork(actor.address));
      await consumePoint(emailsByRecipient, email);
      // Not awaited: the time of the response must not tell whether there is an account.
      sendPasswordReset(email, emails).catch((error) => failures.taskFailed(error));
    },
  );

  async function sendPasswordReset(email: string, to: AccountEmails): Promise<void> {
    const account = await control
      .selectFrom("accounts")
      .select(["id", "credentialEpoch"])
      .where("email", "=", email)
      .executeTakeFirst();
    if (!account) return;
    const link = { accountId: account.id, epoch: account.credentialEpoch, email };
    to.sendPasswordReset(email, await createLink(control, "reset-password", link));
  }

  routes.add(
    {
      method: "post",
      path: "/api/auth/reset-password",
      operationId: "resetPassword",
      by: "anyone",
      tag: "Account",
      summary: "Choose a new password with a link",
      description:
        "Takes the token from the link. Ends all sessions. If the link came by email, and nobody had verified the address before, this also removes the passkeys and the second factor.",
      body: PasswordReset,
      response: Done,
      problems: [403, 422, 503],
    },
    async ({ actor, body: { token, newPassword } }) => {
      // Not known: with one link, anyone can ask for a new password as often as they like at the same time.
      const from = { address: actor.address, isKnown: false };
      const account = await resetPassword(control, token, newPassword, { passwords, from, actor });
      await reauthentication.forget(account.id);
      emails?.sendSecurityNotice(account, "password.reset");
      await streamAuthorizer.check();
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/sign-up",
      operationId: "signUp",
      by: "anyone",
      tag: "Account",
      summary: "Create an account",
      description:
        "Only if sign-up is open. If email is configured, this sends a link, and the response is the same for an address that has an account. Otherwise it takes a password, creates the account and signs in.",
      body: SignUp,
      status: 201,
      response: SignUpResponse,
      problems: [403, 409, 429],
    },
    async ({ request, actor, body }) => {
      await checkSignUpIsOpen();
      const email = body.email.toLowerCase();
      if (emails) {
        await consumePoint(emailsByClient, clientNetwork(actor.address));
        await consumePoint(emailsByRecipient, email);
        sendSignUp(email, emails).catch((error) => failures.taskFailed(error));
        return { confirmation: true };
      }
      const { password } = body;
      if (password === undefined) {
        const detail = '"password" is missing.';
        throw problem("body-invalid", { detail, errors: [{ pointer: "/password", detail }] });
      }
      await consumePoint(signUpsByClient, clientNetwork(actor.address));
      const account = { email, password, name: body.name, emailVerified: false };
      await checkNewPassword(password, account);
      const passwordHash = await passwords.hash(password, { address: actor.address, isKnown: false });
      await control
        .transaction()
        .execute((transaction) => createAccount(transaction, account, passwordHash, null, actor));
      return signInResponse(auth, request, actor, account, { ok: true, confirmation: false });
    },
  );

  async function sendSignUp(email: string, to: AccountEmails): Promise<void> {
    const account = await control
      .selectFrom("accounts")
      .select("id")
      .where("email", "=", email)
      .executeTakeFirst();
    if (account) to.sendAccountExists(email);
    else to.sendSignUp(email, await createLink(control, "sign-up", { accountId: null, epoch: null, email }));
  }

  routes.add(
    {
      method: "post",
      path: "/api/sign-up/confirm",
      by: "anyone",
      tag: "Account",
      summary: "Create an account with the link from an email",
      description: "The response signs in.",
      body: SignUpConfirmation,
      status: 201,
      response: SignUpResponse,
      problems: [403, 409],
    },
    async ({ request, actor, body }) => {
      await checkSignUpIsOpen();
      await checkNewPassword(body.password, { name: body.name });
      const passwordHash = await passwords.hash(body.password, { address: actor.address, isKnown: false });
      const account = await control.transaction().execute(async (transaction) => {
        const { email } = await consumeLink(transaction, "sign-up", body.token);
        const created = { email, password: body.password, name: body.name };
        await createAccount(transaction, created, passwordHash, null, actor);
        return created;
      });
      return signInResponse(auth, request, actor, account, { ok: true, confirmation: false });
    },
  );

  async function checkSignUpIsOpen(): Promise<void> {
    if (config.signUp === "open" && (await hasAccounts(control))) return;
    throw problem("sign-up-closed", { detail: "To create an account here, ask a member for an invitation." });
  }
}
