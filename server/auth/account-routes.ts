import { recordAudit } from "../audit/audit-log.ts";
import { version } from "../config.ts";
import type { Routes } from "../http/routes.ts";
import { countUnread } from "../notifications/inbox.ts";
import { problem } from "../problems.ts";
import { ownsInstallation } from "../projects/installation-owner.ts";
import { listProjects } from "../projects/projects.ts";
import type { Store } from "../storage/store.ts";
import {
  AccountChange,
  AccountDeletion,
  AccountResponse,
  Done,
  EmailChange,
  EmailChangeResponse,
  EmailConfirmed,
  LinkToken,
  Me,
} from "../wire/account.ts";
import type { AccountEmails } from "./account-emails.ts";
import { consumeLink, createLink, invalidLink } from "./account-links.ts";
import { accountResponse } from "./account-response.ts";
import { type Auth, requireSession, sessionOf } from "./auth.ts";
import { changeEmail } from "./change-email.ts";
import { deleteAccount } from "./delete-account.ts";
import type { PasswordHashing } from "./passwords.ts";
import { reauthenticate } from "./reauthenticate.ts";
import { verifyEmail } from "./verify-email.ts";

type Deps = {
  store: Store;
  auth: Auth;
  baseUrl: string;
  passwords: PasswordHashing;
  /** Null if email isn't configured. */
  emails: AccountEmails | null;
  keys: { invalidateProject: (id: number) => void };
  streams: { disconnectProject: (id: number) => void };
  worker: { wake: () => void };
  /** Ends the live streams of ended sessions at once. */
  streamAuthorizer: { check: () => Promise<void> };
  vapidPublicKey: string;
};

/** The signed-in account: its profile, email address and deletion. */
export function addAccountRoutes(routes: Routes, deps: Deps): void {
  const { auth, baseUrl, passwords, emails, keys, streams, worker, streamAuthorizer, vapidPublicKey } = deps;
  const { control } = deps.store;
  const attempts = deps.store.rateLimiter({ name: "reauthentication", points: 10, seconds: 15 * 60 });

  routes.add(
    {
      method: "get",
      path: "/api/me",
      by: "account",
      tag: "Account",
      summary: "Get what the dashboard needs to start",
      response: Me,
    },
    async ({ account }) => ({
      ok: true,
      account,
      projects: await listProjects(control, account.id),
      unread: await countUnread(control, account.id),
      baseUrl,
      vapidPublicKey,
      emailAvailable: emails !== null,
      version,
      ownsInstallation: await ownsInstallation(control, account.id),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/account",
      by: "account",
      tag: "Account",
      summary: "Get the signed-in account",
      response: AccountResponse,
    },
    async ({ account }) => accountResponse(control, account.id),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/account",
      by: "account",
      tag: "Account",
      summary: "Change your name",
      body: AccountChange,
      response: AccountResponse,
    },
    async ({ account, actor, body: { name } }) => {
      await control.transaction().execute(async (transaction) => {
        await transaction
          .updateTable("accounts")
          .set({ name, updatedAt: new Date().toISOString() })
          .where("id", "=", account.id)
          .execute();
        const detail = { name, formerName: account.name };
        await recordAudit(transaction, actor, { action: "account.changed", target: account.email, detail });
      });
      return accountResponse(control, account.id);
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/account/email",
      operationId: "requestEmailChange",
      by: "account",
      tag: "Account",
      summary: "Change your email address",
      description:
        "If email is configured, the address changes when the link sent to it is opened; otherwise at once. Other sessions end with the change.",
      body: EmailChange,
      response: EmailChangeResponse,
      problems: [409, 429],
    },
    async ({ account, actor, request, body }) => {
      const session = await requireSession(auth, request);
      await reauthenticate(control, passwords, session, body.password, attempts);
      const email = body.email.toLowerCase();
      if (email === account.email)
        throw problem("account-request-invalid", { detail: "This is your email address already." });
      if (emails) {
        // An address that has an account gets no email, and the response doesn't tell.
        const owner = await control
          .selectFrom("accounts")
          .select("id")
          .where("email", "=", email)
          .executeTakeFirst();
        const token = await createLink(
          control,
          "change-email",
          JSON.stringify({ accountId: account.id, email }),
        );
        if (!owner) emails.sendEmailConfirmation(email, token);
        return { ok: true, confirmation: true };
      }
      const change = { accountId: account.id, email, isVerified: false, keepSession: session.id };
      await control.transaction().execute((transaction) => changeEmail(transaction, change, actor));
      await streamAuthorizer.check();
      return { ok: true, confirmation: false };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/account/email/confirm",
      operationId: "confirmEmailChange",
      by: "anyone",
      tag: "Account",
      summary: "Confirm an email address",
      description: "Takes the token from the link that was sent to the address.",
      body: LinkToken,
      response: EmailConfirmed,
      problems: [403, 409],
    },
    async ({ actor, request, body }) => {
      const session = await sessionOf(auth, request.headers);
      const { email, former } = await control.transaction().execute(async (transaction) => {
        const link = JSON.parse(await consumeLink(transaction, "change-email", body.token)) as {
          accountId: string;
          email: string;
        };
        if (await verifyEmail(transaction, link, actor)) return { email: link.email, former: null };
        const keepSession = session?.account.id === link.accountId ? session.id : null;
        const former = await changeEmail(transaction, { ...link, isVerified: true, keepSession }, actor);
        if (former === null) throw invalidLink();
        return { email: link.email, former };
      });
      if (former === null) return { ok: true, email };
      emails?.sendEmailChanged(former, email);
      await streamAuthorizer.check();
      return { ok: true, email };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/account/delete",
      by: "account",
      tag: "Account",
      summary: "Delete your account",
      description:
        "Projects of which you are the only member are deleted too. Rejected if you are the only owner of a project with other members.",
      body: AccountDeletion,
      response: Done,
      problems: [409, 429],
    },
    async ({ account, actor, request, body }) => {
      await reauthenticate(control, passwords, await requireSession(auth, request), body.password, attempts);
      const closedProjects = await deleteAccount(control, account.id, actor);
      for (const id of closedProjects) {
        keys.invalidateProject(id);
        streams.disconnectProject(id);
      }
      if (closedProjects.length > 0) worker.wake();
      await streamAuthorizer.check();
      return { ok: true };
    },
  );
}
