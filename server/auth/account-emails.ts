import type { Mailer } from "../notifications/email.ts";
import type { EmailContent } from "../notifications/email-content.ts";
import { emailButton, emailPage } from "../notifications/email-page.ts";
import type { AuditAction } from "../schemas/audit.ts";
import { linkHours, restoreDays } from "./account-links.ts";

type Content = {
  subject: string;
  /** Paragraphs. */
  text: string[];
  action?: { text: string; url: string };
  footer: string;
};

const ignore = "If you didn't ask for this, ignore this email: nothing changes.";
const once = `The link works once, for ${linkHours} hour.`;

const securityNotices: Partial<Record<AuditAction, string>> = {
  "password.changed": "The password of your Tidings account was changed",
  "password.reset": "The password of your Tidings account was reset",
  "two-factor.disabled": "Two-factor authentication of your Tidings account was turned off",
  "recovery-codes.replaced": "Your Tidings account has new recovery codes",
  "passkey.added": "A passkey was added to your Tidings account",
};

/** Somebody who has or had an account, and whether they have shown that they read the address. */
export type Addressee = { email: string; emailVerified: boolean };

/**
 * Sends the emails about an account. They are sent in the background, so that the time of a response doesn't tell
 * whether an account exists; failures are logged.
 *
 * Anyone can enter a stranger's address, so what Tidings tells by itself goes through `#tell`.
 *
 * Invariant: an address that nobody confirmed gets only emails that somebody just asked for: links to confirm it, to
 * sign up or to choose a password, and invitations. They are limited by recipient or sender (`#answer`). Checked by
 * `server/auth/account-emails.test.ts`, `server/auth/password-reset.test.ts` and
 * `server/invitations/invitations.test.ts`.
 */
export class AccountEmails {
  readonly #mailer: Mailer;
  readonly #baseUrl: string;
  readonly #onError: (error: unknown) => void;

  constructor(mailer: Mailer, baseUrl: string, onError: (error: unknown) => void) {
    this.#mailer = mailer;
    this.#baseUrl = baseUrl;
    this.#onError = onError;
  }

  sendPasswordReset(to: string, token: string): void {
    this.#answer(to, {
      subject: "Reset your Tidings password",
      text: [`Somebody, probably you, asked to reset the password of ${to}. ${once}`],
      action: { text: "Choose a new password", url: this.#link("reset-password", token) },
      footer: ignore,
    });
  }

  sendEmailConfirmation(to: string, token: string): void {
    this.#answer(to, {
      subject: "Confirm your email address",
      text: [`Confirm that you want to sign in to Tidings with ${to} from now on. ${once}`],
      action: { text: "Confirm this address", url: this.#link("confirm-email", token) },
      footer: ignore,
    });
  }

  /** To the address of an account that anyone could have entered. */
  sendVerification(to: string, token: string): void {
    this.#answer(to, {
      subject: "Confirm your email address",
      text: [`Confirm that Tidings may send notifications to ${to}. ${once}`],
      action: { text: "Confirm this address", url: this.#link("confirm-email", token) },
      footer: ignore,
    });
  }

  sendSignUp(to: string, token: string): void {
    this.#answer(to, {
      subject: "Create your Tidings account",
      text: [`Open the link to create an account for ${to}. ${once}`],
      action: { text: "Create my account", url: this.#link("sign-up", token) },
      footer: ignore,
    });
  }

  /** Instead of `sendSignUp`, to an address that has an account. */
  sendAccountExists(to: string): void {
    this.#answer(to, {
      subject: "You already have a Tidings account",
      text: [
        `Somebody, probably you, asked to create an account for ${to}. You already have one: sign in instead.`,
      ],
      action: { text: "Sign in", url: `${this.#baseUrl}/sign-in` },
      footer: ignore,
    });
  }

  /** Tells an account's owner of a change that somebody who stole a session or a password could have made. */
  sendSecurityNotice(to: Addressee, action: AuditAction): void {
    const subject = securityNotices[action];
    if (!subject) return;
    this.#tell(to, {
      subject,
      text: [
        `${subject}. If it was you, there is nothing to do.`,
        "If it wasn't you, reset your password at once, and look at the passkeys and sessions of your account.",
      ],
      action: { text: "Open my account", url: `${this.#baseUrl}/account` },
      footer: "You get this email because it concerns the security of your account.",
    });
  }

  /** Tells an account's former address of the change, with a link for an owner who didn't make it. */
  sendEmailChanged(to: Addressee, newEmail: string, restoreToken: string): void {
    this.#tell(to, {
      subject: "The email address of your Tidings account was changed",
      text: [
        `Your account now belongs to the address ${newEmail}. You can't sign in with ${to.email} anymore.`,
        `If this wasn't you, take the account back. The link works once, for ${restoreDays} days. It ends all sessions, and you choose a new password.`,
      ],
      action: { text: "This wasn't me", url: this.#link("restore-email", restoreToken) },
      footer: "You get this email because it concerns the security of your account.",
    });
  }

  /** Tells the address that an account was taken back from. */
  sendEmailRestored(to: Addressee): void {
    this.#tell(to, {
      subject: "Your Tidings account was taken back",
      text: [
        `The former address of the account took it back. You can't sign in with ${to.email} anymore.`,
        "If the account is yours, tell the people who run this server at once.",
      ],
      footer: "You get this email because it concerns the security of your account.",
    });
  }

  #link(page: string, token: string): string {
    return `${this.#baseUrl}/${page}?token=${token}`;
  }

  #answer(to: string, content: Content): void {
    this.#send(to, content);
  }

  #tell({ email, emailVerified }: Addressee, content: Content): void {
    if (emailVerified) this.#send(email, content);
  }

  #send(to: string, content: Content): void {
    this.#mailer.send({ ...renderAccountEmail(content), to }).then(({ kind, detail }) => {
      if (kind !== "delivered") this.#onError(new Error(`The email "${content.subject}" failed. ${detail}`));
    }, this.#onError);
  }
}

function renderAccountEmail({ subject, text, action, footer }: Content): EmailContent {
  const paragraphs = text.map(
    (paragraph) =>
      `<div class="strong" style="margin-top: 10px; font-size: 14px; line-height: 21px; color: #26241f; word-break: break-word">${Bun.escapeHTML(paragraph)}</div>`,
  );
  const title = `<div class="strong" style="font-size: 18px; line-height: 24px; font-weight: 600; color: #26241f">${Bun.escapeHTML(subject)}</div>`;
  return {
    subject,
    text: `${[...text, ...(action ? [`${action.text}: ${action.url}`] : []), `-- \n${footer}`].join("\n\n")}\n`,
    html: emailPage({
      title: subject,
      card: title + paragraphs.join("") + (action ? emailButton(action.text, action.url) : ""),
      footer: Bun.escapeHTML(footer),
    }),
    headers: { "Auto-Submitted": "auto-generated" },
  };
}
