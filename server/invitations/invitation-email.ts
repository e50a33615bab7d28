import type { EmailContent } from "../notifications/email-content.ts";
import { emailButton, emailPage, oneLine } from "../notifications/email-page.ts";
import type { Invitation } from "../schemas/invitation.ts";

/** Renders the email with an invitation's link. All texts are escaped. */
export function renderInvitationEmail(
  { invitedBy, role, expiresAt }: Invitation,
  project: { name: string },
  link: string,
): EmailContent {
  const title = `Join ${project.name} on Tidings`;
  const until = new Intl.DateTimeFormat("en", { dateStyle: "long", timeZone: "UTC" }).format(
    new Date(expiresAt),
  );
  const about = `${invitedBy} invites you to the project ${project.name} as ${roleNames[role]}.`;
  const validity = `The link works once, until ${until}.`;
  const why = "If you don't know why you get this email, ignore it.";
  return {
    subject: oneLine(title),
    text: `${about}\n\nAccept the invitation: ${link}\n\n${validity}\n\n-- \n${why}\n`,
    html: emailPage({
      title,
      card: `
      <div class="strong" dir="auto" style="font-size: 18px; line-height: 24px; font-weight: 600; color: #26241f; word-break: break-word">${Bun.escapeHTML(title)}</div>
      <div class="strong" dir="auto" style="margin-top: 10px; font-size: 14px; line-height: 21px; color: #26241f; word-break: break-word">${Bun.escapeHTML(about)} ${validity}</div>
      ${emailButton("Accept the invitation", link)}`,
      footer: Bun.escapeHTML(why),
    }),
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

const roleNames = { owner: "an owner", admin: "an admin", member: "a member", viewer: "a viewer" };
