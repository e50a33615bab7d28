import { createTransport } from "nodemailer";
import type { Event } from "../event/event.ts";
import type { Outcome } from "./outcome.ts";

export type EmailContent = {
  subject: string;
  text: string;
  html: string;
  headers?: Record<string, string>;
};

/** One message to one person; `to` is an address alone, without a name. */
type Email = EmailContent & { to: string };

export type Mailer = {
  /**
   * Hands a message to the mail server. Never throws for what the mail server does: that is the outcome.
   *
   * @param timeoutMs - for all of it
   */
  send(email: Email, timeoutMs?: number): Promise<Outcome>;
  /** Closes the connections, after what is being sent. */
  close(): void;
};

/** To connect, to be greeted, and without a byte from the mail server. */
const stepTimeoutMs = 10_000;
/** For a whole message, with its time in the queue: below the lease of a delivery, lest it is sent twice. */
const sendTimeoutMs = 45_000;

/**
 * Connects to the mail server of a URL like `smtps://user:password@mail.example.com` (`smtp:` takes STARTTLS where it is
 * offered), when there is something to send. `from` is an address, with or without a name.
 */
export function createMailer(smtpUrl: string, from: string): Mailer {
  const transport = createTransport(
    {
      url: smtpUrl,
      pool: true,
      connectionTimeout: stepTimeoutMs,
      greetingTimeout: stepTimeoutMs,
      socketTimeout: stepTimeoutMs,
      // An outcome of "retry" comes back here later; nodemailer itself would hurry.
      ...{ maxRequeues: 1 },
      // A message is text from strangers, never a file or a URL of the server.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
  return {
    async send({ to, ...content }, timeoutMs = sendTimeoutMs) {
      // Anything but one plain address could be read as a list of them.
      if (!/^[^\s@,;:<>()"]+@[^\s@,;:<>()"]+$/.test(to)) {
        return { kind: "failed", detail: `${JSON.stringify(to)} is not an email address.` };
      }
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const message = { ...content, to: { name: "", address: to }, signal };
        const { response } = await transport.sendMail(message);
        return { kind: "delivered", detail: `The mail server answered: ${sentence(response)}` };
      } catch (error) {
        return judge(error as MailError, signal, timeoutMs);
      }
    },
    close: () => transport.close(),
  };
}

type MailError = Error & { code?: string; response?: string; responseCode?: number };

function judge(
  { message, code, response, responseCode }: MailError,
  signal: AbortSignal,
  timeoutMs: number,
): Outcome {
  if (signal.aborted) {
    return { kind: "retry", detail: `The mail server did not respond within ${timeoutMs / 1_000} seconds.` };
  }
  if (responseCode === undefined) {
    return { kind: "retry", detail: `The mail server can't be reached: ${sentence(message)}` };
  }
  const said = sentence(response ?? String(responseCode));
  // A wrong password is not the message's fault, and somebody will mend it.
  if (code === "EAUTH") return { kind: "retry", detail: `The mail server rejected the sign-in: ${said}` };
  // RFC 5321, section 4.2.1: 5yz is permanent, 4yz is transient.
  return { kind: responseCode >= 500 ? "failed" : "retry", detail: `The mail server answered: ${said}` };
}

function sentence(text: string): string {
  const line = oneLine(text).slice(0, 300);
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/**
 * Writes the message about one event: subject, plain text, HTML (inline styles, light and dark), and the header that keeps
 * auto-responders quiet (RFC 3834). Both addresses are complete URLs of the dashboard. Every text is escaped.
 */
export function renderEventEmail(
  event: Event,
  project: { name: string },
  eventUrl: string,
  settingsUrl: string,
): Required<EmailContent> {
  const icon = event.icon && isEmoji(event.icon) ? event.icon : null;
  const title = icon === null ? event.name : `${icon} ${event.name}`;
  const about = [event.channelId, event.userId].filter((part) => part !== "").join(" · ");
  const at = writtenTime(event.createdAt);
  const tags = Object.entries(event.tags);
  const why = `You get this email because you are a member of ${project.name}.`;
  const text = [
    `${title}\n${about}\n${at}`,
    tags.map(([key, value]) => `${key}: ${value}`).join("\n"),
    event.description ?? "",
    `View event: ${eventUrl}`,
    `-- \n${why}\nChange notification settings: ${settingsUrl}`,
  ];
  return {
    subject: oneLine(`${title} · ${event.channelId}`),
    text: `${text.filter((part) => part !== "").join("\n\n")}\n`,
    html: page(event, { icon, about, at, tags, why, eventUrl, settingsUrl }),
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

type Parts = {
  icon: string | null;
  about: string;
  at: string;
  tags: [string, string][];
  why: string;
  eventUrl: string;
  settingsUrl: string;
};

/** The classes are for dark alone: a mail program that drops the style sheet shows the inline, light one. */
const darkStyles = `
  @media (prefers-color-scheme: dark) {
    .page { background: #1a1917 !important; }
    .card { background: #242320 !important; border-color: #3a3834 !important; }
    .strong { color: #f2efea !important; }
    .soft { color: #a8a29a !important; }
    .line { border-color: #3a3834 !important; }
    .icon { background: #33312d !important; }
    .button { background: #f2efea !important; color: #1a1917 !important; }
  }`;

const typeface =
  "font-family: ui-sans-serif, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

function page(event: Event, { icon, about, at, tags, why, eventUrl, settingsUrl }: Parts): string {
  const iconCell =
    icon === null
      ? ""
      : `<td valign="top" style="padding: 2px 14px 0 0"><div class="icon" style="width: 44px; height: 44px; background: #f3f0eb; border-radius: 10px; font-size: 22px; line-height: 44px; text-align: center">${Bun.escapeHTML(icon)}</div></td>`;
  const tagRows = tags.map(
    ([key, value], index) => `
        <tr>
          <td class="soft line" valign="top" style="padding: 7px 16px 7px 0; color: #77716a; ${unbroken(key)}${ruled(index)}" dir="auto">${Bun.escapeHTML(key)}</td>
          <td class="strong line" valign="top" width="100%" style="padding: 7px 0; color: #26241f; white-space: pre-wrap; word-break: break-word${ruled(index)}" dir="auto">${Bun.escapeHTML(value)}</td>
        </tr>`,
  );
  const tagTable =
    tags.length === 0
      ? ""
      : `
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin-top: 18px; border-collapse: collapse; font-size: 14px; line-height: 20px">${tagRows.join("")}
      </table>`;
  const description = event.description
    ? `
      <div class="strong" dir="auto" style="margin-top: 18px; font-size: 14px; line-height: 21px; color: #26241f; white-space: pre-wrap; word-break: break-word">${Bun.escapeHTML(event.description)}</div>`
    : "";
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <meta name="color-scheme" content="light dark">
  <meta name="supported-color-schemes" content="light dark">
  <title>${Bun.escapeHTML(oneLine(event.name))}</title>
  <style>${darkStyles}
  </style>
</head>
<body class="page" style="margin: 0; padding: 0; background: #f7f5f2">
  <table class="page" role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background: #f7f5f2; ${typeface}"><tr><td align="center" style="padding: 28px 14px">
    <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width: 520px; text-align: left"><tr><td class="card" style="padding: 24px; background: #ffffff; border: 1px solid #e6e1da; border-radius: 12px">
      <table role="presentation" cellpadding="0" cellspacing="0"><tr>${iconCell}<td valign="middle">
        <div class="strong" dir="auto" style="font-size: 18px; line-height: 24px; font-weight: 600; color: #26241f; word-break: break-word">${Bun.escapeHTML(event.name)}</div>
        <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a; word-break: break-word">${Bun.escapeHTML(about)}</div>
        <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a">${Bun.escapeHTML(at)}</div>
      </td></tr></table>${tagTable}${description}
      <div style="margin-top: 22px"><a class="button" href="${Bun.escapeHTML(eventUrl)}" style="display: inline-block; padding: 9px 16px; background: #26241f; color: #ffffff; border-radius: 8px; font-size: 14px; line-height: 20px; font-weight: 600; text-decoration: none">View event</a></div>
    </td></tr><tr><td class="soft" style="padding: 16px 25px 0; font-size: 12px; line-height: 18px; color: #77716a">${Bun.escapeHTML(why)}<br><a class="soft" href="${Bun.escapeHTML(settingsUrl)}" style="color: #77716a">Change notification settings</a></td></tr></table>
  </td></tr></table>
</body>
</html>
`;
}

/** A short key stays on its line; a long one would push its value off a phone's screen. */
function unbroken(key: string): string {
  return key.length <= 20 ? "white-space: nowrap" : "word-break: break-word; min-width: 120px";
}

function ruled(index: number): string {
  return index === 0 ? "" : "; border-top: 1px solid #eeeae4";
}

/** A header is one line: whatever could end it becomes a space. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}

/** An icon may also be the name of a file, or a text with an emoji in it, which would only be in the way. */
function isEmoji(icon: string): boolean {
  const [first, second] = new Intl.Segmenter().segment(icon);
  return (
    second === undefined && /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u.test(first!.segment)
  );
}

function writtenTime(createdAt: string): string {
  const time = new Intl.DateTimeFormat("en", {
    dateStyle: "long",
    timeStyle: "medium",
    timeZone: "UTC",
    hourCycle: "h23",
  });
  return `${time.format(new Date(createdAt))} UTC`;
}
