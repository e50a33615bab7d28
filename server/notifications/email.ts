import { createTransport } from "nodemailer";
import { digestLines, digestTable } from "./email-digest-page.ts";
import { emailButton, emailPage, oneLine } from "./email-page.ts";
import { type AccountMessage, formatTime } from "./message.ts";
import type { Outcome } from "./transport.ts";

export type EmailContent = {
  subject: string;
  text: string;
  html: string;
  headers?: Record<string, string>;
};

/** One message to one recipient. `to` is an address without a name. */
type Email = EmailContent & { to: string };

export type Mailer = {
  /**
   * Passes a message to the mail server. Never throws for errors of the mail server; they are the outcome.
   *
   * @param timeoutMs - for the whole operation
   */
  send(email: Email, timeoutMs?: number): Promise<Outcome>;
  /** Closes the connections after messages in progress. */
  close(): void;
};

/** Timeout for connecting, for the greeting, and for each pause of the mail server. */
const stepTimeoutMs = 10_000;
/**
 * Timeout for a whole message, including its time in the queue. Below the lease of a delivery, so that no message is
 * sent twice.
 */
const sendTimeoutMs = 45_000;

/**
 * Creates a mailer for a URL like `smtps://user:password@mail.example.com` (`smtp:` uses STARTTLS if offered). It
 * connects when there is something to send. `from` is an address with or without a name.
 */
export function createMailer(smtpUrl: string, from: string): Mailer {
  const transport = createTransport(
    {
      url: smtpUrl,
      pool: true,
      connectionTimeout: stepTimeoutMs,
      greetingTimeout: stepTimeoutMs,
      socketTimeout: stepTimeoutMs,
      // Tidings retries later; nodemailer would retry at once.
      ...{ maxRequeues: 1 },
      // Messages contain text from strangers. It must never make the server read a file or a URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
  return {
    async send({ to, ...content }, timeoutMs = sendTimeoutMs) {
      // Anything but a single plain address could be parsed as a list of addresses.
      if (!/^[^\s@,;:<>()"]+@[^\s@,;:<>()"]+$/.test(to)) {
        return { kind: "failed", detail: `${JSON.stringify(to)} is not an email address.` };
      }
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const { subject, headers, ...rest } = content;
        const named = subject.includes("=?")
          ? { headers: { ...headers, Subject: { prepared: true, value: encodedWords(subject) } } }
          : { subject, headers };
        const message = { ...rest, ...named, to: { name: "", address: to }, signal };
        const { response } = await transport.sendMail(message);
        return { kind: "delivered", detail: `The mail server responded: ${sentence(response)}` };
      } catch (error) {
        return outcomeOf(error as MailError, signal, timeoutMs);
      }
    },
    close: () => transport.close(),
  };
}

/** Bytes of text in an encoded word, which has at most 75 characters. */
const wordBytes = 42;

/**
 * A subject as encoded words (RFC 2047). Needed if it contains what looks like one: nodemailer sends ASCII as it is, and
 * mail programs would decode a text that a stranger chose.
 */
function encodedWords(subject: string): string {
  const words: string[] = [];
  let word = "";
  for (const character of subject) {
    if (Buffer.byteLength(word + character) > wordBytes) {
      words.push(word);
      word = "";
    }
    word += character;
  }
  const encoded = [...words, word].map((each) => `=?UTF-8?B?${Buffer.from(each).toString("base64")}?=`);
  return encoded.join("\r\n ");
}

type MailError = Error & { code?: string; response?: string; responseCode?: number };

function outcomeOf(
  { message, code, response, responseCode }: MailError,
  signal: AbortSignal,
  timeoutMs: number,
): Outcome {
  if (signal.aborted) {
    const detail = `The mail server did not respond within ${timeoutMs / 1_000} seconds.`;
    return { kind: "retry", detail, cause: "unavailable" };
  }
  if (responseCode === undefined) {
    const detail = `The mail server can't be reached: ${sentence(message)}`;
    return { kind: "retry", detail, cause: "unavailable" };
  }
  const reply = sentence(response ?? String(responseCode));
  // A wrong password isn't the message's fault, and can be fixed.
  if (code === "EAUTH") {
    const detail = `The mail server rejected the sign-in: ${reply}`;
    return { kind: "retry", detail, cause: "unavailable" };
  }
  // RFC 5321, section 4.2.1: 5yz is permanent, 4yz is transient.
  return { kind: responseCode >= 500 ? "failed" : "retry", detail: `The mail server responded: ${reply}` };
}

function sentence(text: string): string {
  const line = oneLine(text).slice(0, 300);
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** Absolute URLs: of the settings, and of the page that ends the project's email, if there is one. */
export type EmailLinks = { settings: string; unsubscribe?: string };

/**
 * Renders a notification as an email: subject, plain text, HTML (inline styles, light and dark), and headers that
 * silence auto-responders (RFC 3834) and let mail programs unsubscribe (RFC 8058). All texts are escaped.
 */
export function renderEmail(message: AccountMessage, links: EmailLinks): Required<EmailContent> {
  const { type, event, project, icon, url, digest } = message;
  const title = icon === null ? message.title : `${icon} ${message.title}`;
  const ofEvent = type === "event" || type === "test" ? event : null;
  const about = ofEvent
    ? [ofEvent.channelId, ofEvent.userId].filter((part) => part !== "").join(" · ")
    : project.name;
  const at = digest?.at ?? formatTime(message.createdAt);
  const tags = Object.entries(ofEvent?.tags ?? {});
  const link = digest ? "View all" : type === "event" || type === "test" ? "View event" : "View";
  const why = `You get this email because you are a member of ${project.name}.`;
  const text = [
    `${title}\n${about}\n${at}`,
    tags.map(([key, value]) => `${key}: ${value}`).join("\n"),
    message.text ?? "",
    ...(digest ? digestLines(digest) : []),
    `${link}: ${url}`,
    [
      `-- \n${why}`,
      `Change notification settings: ${links.settings}`,
      ...(links.unsubscribe ? [`Unsubscribe: ${links.unsubscribe}`] : []),
    ].join("\n"),
  ];
  return {
    subject: oneLine(`${title} · ${ofEvent?.channelId ?? project.name}`),
    text: `${text.filter((part) => part !== "").join("\n\n")}\n`,
    html: page(message, { about, at, tags, link, why, links }),
    headers: { "Auto-Submitted": "auto-generated", ...unsubscribeHeaders(links) },
  };
}

/** RFC 2369, section 3.2, and RFC 8058, which requires HTTPS. */
function unsubscribeHeaders({ unsubscribe }: EmailLinks): Record<string, string> {
  if (!unsubscribe) return {};
  return {
    "List-Unsubscribe": `<${unsubscribe}>`,
    ...(unsubscribe.startsWith("https:") && { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
  };
}

type Parts = {
  about: string;
  at: string;
  tags: [string, string][];
  link: string;
  why: string;
  links: EmailLinks;
};

function page(
  { title, icon, text, url, digest }: AccountMessage,
  { about, at, tags, link, why, links }: Parts,
): string {
  const iconCell =
    icon === null
      ? ""
      : `<td valign="top" style="padding: 2px 14px 0 0"><div class="icon" style="width: 44px; height: 44px; background: #f3f0eb; border-radius: 10px; font-size: 22px; line-height: 44px; text-align: center">${Bun.escapeHTML(icon)}</div></td>`;
  const tagRows = tags.map(
    ([key, value], index) => `
        <tr>
          <td class="soft line" valign="top" style="padding: 7px 16px 7px 0; color: #77716a; ${keyStyle(key)}${rowBorder(index)}" dir="auto">${Bun.escapeHTML(key)}</td>
          <td class="strong line" valign="top" width="100%" style="padding: 7px 0; color: #26241f; white-space: pre-wrap; word-break: break-word${rowBorder(index)}" dir="auto">${Bun.escapeHTML(value)}</td>
        </tr>`,
  );
  const tagTable =
    tags.length === 0
      ? ""
      : `
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin-top: 18px; border-collapse: collapse; font-size: 14px; line-height: 20px">${tagRows.join("")}
      </table>`;
  const description = text
    ? `
      <div class="strong" dir="auto" style="margin-top: 18px; font-size: 14px; line-height: 21px; color: #26241f; white-space: pre-wrap; word-break: break-word">${Bun.escapeHTML(text)}</div>`
    : "";
  const card = `
      <table role="presentation" cellpadding="0" cellspacing="0"><tr>${iconCell}<td valign="middle">
        <div class="strong" dir="auto" style="font-size: 18px; line-height: 24px; font-weight: 600; color: #26241f; word-break: break-word">${Bun.escapeHTML(title)}</div>
        <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a; word-break: break-word">${Bun.escapeHTML(about)}</div>
        <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a">${Bun.escapeHTML(at)}</div>
      </td></tr></table>${tagTable}${description}${digest ? digestTable(digest) : ""}
      ${emailButton(link, url)}`;
  const footerLinks = [
    softLink("Change notification settings", links.settings),
    ...(links.unsubscribe ? [softLink("Unsubscribe", links.unsubscribe)] : []),
  ];
  return emailPage({ title, card, footer: `${Bun.escapeHTML(why)}<br>${footerLinks.join(" · ")}` });
}

function softLink(text: string, url: string): string {
  return `<a class="soft" href="${Bun.escapeHTML(url)}" style="color: #77716a">${Bun.escapeHTML(text)}</a>`;
}

/** Short keys don't wrap. Long ones would push their values off a phone's screen. */
function keyStyle(key: string): string {
  return key.length <= 20 ? "white-space: nowrap" : "word-break: break-word; min-width: 120px";
}

function rowBorder(index: number): string {
  return index === 0 ? "" : "; border-top: 1px solid #eeeae4";
}
