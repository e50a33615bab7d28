import { recordAudit } from "../audit/audit-log.ts";
import { version } from "../config/config.ts";
import { checkVersion } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Routes } from "../http/routes.ts";
import { countUnread } from "../notifications/inbox.ts";
import { ownsInstallation } from "../projects/installation-owner.ts";
import { listProjects } from "../projects/projects.ts";
import {
  AccountChange,
  AccountDeletion,
  AccountResponse,
  EmailChange,
  EmailChangeResponse,
  EmailConfirmed,
  EmailRestored,
  LinkToken,
  Me,
} from "../schemas/account.ts";
import { Done } from "../schemas/done.ts";
import type { Store } from "../storage/store.ts";
import type { AccountEmails } from "./account-emails.ts";
import { consumeLink, createLink, findLink } from "./account-links.ts";
import { accountResponse } from "./account-response.ts";
import { type Auth, requireSession, sessionOf } from "./auth.ts";
import { changeEmail, restoreEmail } from "./change-email.ts";
import { consumePoint } from "./consume-point.ts";
import { changedMeanwhile } from "./credential-epoch.ts";
import { deleteAccount } from "./delete-account.ts";
import type { Reauthentication } from "./reauthenticate.ts";
import { verifyEmail } from "./verify-email.ts";

type Deps = {
  store: Store;
  auth: Auth;
  baseUrl: string;
  reauthentication: Reauthentication;
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
  const { auth, baseUrl, reauthentication, emails, keys, streams, worker, streamAuthorizer, vapidPublicKey } =
    deps;
  const { control } = deps.store;
  // The new address may be a stranger's.
  const changesByAccount = deps.store.rateLimiter({
    name: "email-changes",
    points: limits.emailChangesPerHour,
    seconds: 60 * 60,
  });
  const changesByRecipient = deps.store.rateLimiter({
    name: "email-changes-by-recipient",
    points: limits.emailChangesToRecipientPerHour,
    seconds: 60 * 60,
  });

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
      versioned: null,
      body: AccountChange,
      response: AccountResponse,
    },
    async ({ account, actor, ifMatch, body: { name } }) => {
      await control.transaction().execute(async (transaction) => {
        // Locks the row until the transaction ends.
        await transaction
          .updateTable("accounts")
          .set({ id: account.id })
          .where("id", "=", account.id)
          .execute();
        checkVersion(ifMatch, (await accountResponse(transaction, account.id)).account);
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
      await reauthentication.check(session, body.password, actor.address);
      const { epoch } = session;
      const email = body.email.toLowerCase();
      if (email === account.email)
        throw problem("account-request-invalid", { detail: "This is your email address already." });
      if (emails) {
        await consumePoint(changesByAccount, account.id);
        await consumePoint(changesByRecipient, email);
        // An address that has an account gets no email, and the response doesn't tell.
        const owner = await control
          .selectFrom("accounts")
          .select("id")
          .where("email", "=", email)
          .executeTakeFirst();
        const token = await createLink(control, "change-email", { accountId: account.id, epoch, email });
        if (!owner) emails.sendEmailConfirmation(email, token);
        return { confirmation: true };
      }
      const change = {
        accountId: account.id,
        epoch,
        email,
        isVerified: false,
        keepSession: session.id,
        canTellFormer: false,
      };
      await control.transaction().execute((transaction) => changeEmail(transaction, change, actor));
      await streamAuthorizer.check();
      return { confirmation: false };
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
      description:
        "Takes the token from the link that was sent to the address, and a session of the account that asked for it.",
      body: LinkToken,
      response: EmailConfirmed,
      problems: [401, 403, 409],
    },
    async ({ actor, request, body }) => {
      const { accountId } = await findLink(control, "change-email", body.token);
      const session = await sessionOf(auth, request.headers);
      // The link shows who reads the address. The account may be somebody else's, who entered it.
      if (session?.account.id !== accountId) throw signInToConfirm();
      const { email, verified, changed } = await control.transaction().execute(async (transaction) => {
        const link = await consumeLink(transaction, "change-email", body.token);
        if (await verifyEmail(transaction, link, actor))
          return { email: link.email, verified: true, changed: null };
        const change = {
          ...link,
          isVerified: true,
          keepSession: session.id,
          canTellFormer: emails !== null,
        };
        return { email: link.email, verified: false, changed: await changeEmail(transaction, change, actor) };
      });
      if (verified) return { email };
      if (!changed) throw changedMeanwhile();
      if (changed.restoreToken !== null)
        emails?.sendEmailChanged(changed.former, email, changed.restoreToken);
      await streamAuthorizer.check();
      return { email };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/account/email/restore",
      operationId: "restoreEmail",
      by: "anyone",
      tag: "Account",
      summary: "Take an account back to its former email address",
      description:
        "Takes the token from the link that the former address was sent. The password and all sessions end, and so does what signs in and was added since. Returns a token to reset the password.",
      body: LinkToken,
      response: EmailRestored,
      problems: [403, 409],
    },
    async ({ actor, body }) => {
      const { accountId, email, resetToken, displaced } = await control
        .transaction()
        .execute((transaction) => restoreEmail(transaction, body.token, actor));
      await reauthentication.forget(accountId);
      if (displaced !== null) emails?.sendEmailRestored(displaced);
      await streamAuthorizer.check();
      return { email, token: resetToken };
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
        "Projects with no other member are deleted too. Rejected if you are the only owner of a project with other members.",
      body: AccountDeletion,
      response: Done,
      problems: [409, 429],
    },
    async ({ account, actor, request, body }) => {
      const session = await requireSession(auth, request);
      await reauthentication.check(session, body.password, actor.address);
      const closedProjects = await deleteAccount(control, account.id, session.epoch, actor);
      for (const id of closedProjects) {
        keys.invalidateProject(id);
        streams.disconnectProject(id);
      }
      if (closedProjects.length > 0) worker.wake();
      await streamAuthorizer.check();
    },
  );
}

function signInToConfirm() {
  return problem("sign-in-needed", {
    detail:
      "Sign in to the account that asked for this link, then confirm. If that wasn't you, close this page: nothing has changed.",
  });
}
