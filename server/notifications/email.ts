import { createTransport } from "nodemailer";
import type { Event } from "../event/event.ts";
import type { EmailContent, EmailReader } from "./email-content.ts";
import { digestLines, digestTable } from "./email-digest-page.ts";
import { markdownHtml, markdownText } from "./email-markdown.ts";
import { emailButton, emailPage, oneLine } from "./email-page.ts";
import { renderReport } from "./email-report.ts";
import type { Outcome } from "./kinds/kind.ts";
import { alertActionsOf, newestLabelOf, titleOf } from "./kinds/layout.ts";
import { type Digest, formatShortTime, formatTime, type Message } from "./message.ts";

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
 * A subject as encoded words (RFC 2047). Needed if it contains what looks like one: nodemailer sends ASCII as it is,
 * and mail programs would decode a text that a stranger chose.
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

/**
 * Renders a notification as an email: subject, plain text, HTML (inline styles, light and dark), and headers that
 * silence auto-responders (RFC 3834), let mail programs unsubscribe (RFC 8058) and filter by project (RFC 2919), and
 * keep a thread together (RFC 5322, section 3.6.4). All texts are escaped.
 */
export function renderEmail(message: Message, reader: EmailReader): EmailContent {
  const { report } = message;
  return {
    ...(report
      ? renderReport({ message, report, picture: reader.picture ?? null }, reader)
      : renderMessage(message, reader)),
    ...headersOf(message, reader),
  };
}

function renderMessage(
  message: Message,
  reader: EmailReader,
): Pick<EmailContent, "subject" | "text" | "html"> {
  const { url, digest, first } = message;
  const parts = partsOf(message, reader);
  const { about, at, facts, newest, link, why, settingsUrl } = parts;
  const text = [
    `${titleOf(message)}\n${about}\n${at}`,
    ...(newest ? [] : [factLines(facts)]),
    markdownText(message.text ?? ""),
    // The facts of a message without an event of its own are those of the newest.
    ...(newest ? [newest.heading, ...digestLines(newest), factLines(facts)] : []),
    ...(digest ? digestLines(digest) : []),
    [`${link}: ${url}`, ...alertActionsOf(message).map(({ label, url }) => `${label}: ${url}`)].join("\n"),
    [
      `-- \n${why}`,
      `Change notification settings: ${settingsUrl}`,
      ...(reader.unsubscribeUrl ? [`Unsubscribe: ${reader.unsubscribeUrl}`] : []),
    ].join("\n"),
  ];
  const subject = first ? `Re: ${subjectOf(first)}` : subjectOf(message);
  return {
    subject: oneLine(subject),
    text: `${text.filter((part) => part.trim() !== "").join("\n\n")}\n`,
    html: page(message, parts, reader),
  };
}

function headersOf(message: Message, reader: EmailReader): Partial<EmailContent> {
  const { project } = message;
  return {
    headers: {
      "Auto-Submitted": "auto-generated",
      ...(message.urgent && { Importance: "high", "X-Priority": "1 (Highest)" }),
      ...unsubscribeHeaders(reader),
    },
    list: { id: { url: `${project.slug}.${hostOf(reader)}`, comment: oneLine(project.name) } },
    ...threadOf(message, reader),
  };
}

function subjectOf(message: Message): string {
  return `${titleOf(message)} · ${message.event?.channelId ?? message.project.name}`;
}

/** A thread begins with an id that no message has: mail programs put together what refers to the same one. */
function threadOf({ id, thread }: Message, reader: EmailReader): Partial<EmailContent> {
  const host = hostOf(reader);
  return {
    messageId: `<${id}@${host}>`,
    ...(thread !== null && { references: `<${thread}@${host}>`, inReplyTo: `<${thread}@${host}>` }),
  };
}

function hostOf({ baseUrl }: EmailReader): string {
  return URL.parse(baseUrl)?.hostname ?? "tidings.invalid";
}

function partsOf(message: Message, { baseUrl, timeZone }: EmailReader): Parts {
  const { type, event, project, digest, createdAt, newest } = message;
  const ofEvent = type === "event" || type === "test" ? event : null;
  const about = [ofEvent?.channelId ?? project.name, ofEvent?.userId ?? ""];
  const items = newest.map((each) => ({
    title: each.name,
    about: [each.channelId, each.userId].filter(Boolean).join(" · "),
    at: formatShortTime(each.createdAt, timeZone),
    url: `${baseUrl}/p/${project.slug}/events/${each.id}`,
  }));
  return {
    about: about.filter((part) => part !== "").join(" · "),
    at: digest?.at ?? formatTime(createdAt, timeZone),
    facts: factsOf(ofEvent ?? (type === "digest" ? null : newest[0]), message),
    newest: items.length === 0 ? null : { heading: newestLabelOf(type), items, others: 0 },
    link: digest ? "View all" : ofEvent ? "View event" : "View",
    why: `You get this email because you are a member of ${project.name}.`,
    settingsUrl: `${baseUrl}/account/notifications`,
  };
}

/** RFC 2369, section 3.2, and RFC 8058, which requires HTTPS. */
function unsubscribeHeaders({ unsubscribeUrl }: EmailReader): Record<string, string> {
  if (!unsubscribeUrl) return {};
  return {
    "List-Unsubscribe": `<${unsubscribeUrl}>`,
    ...(unsubscribeUrl.startsWith("https:") && { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
  };
}

type Parts = {
  about: string;
  at: string;
  facts: Message["fields"];
  newest: (Pick<Digest, "items" | "others"> & { heading: string }) | null;
  link: string;
  why: string;
  settingsUrl: string;
};

function page(
  message: Message,
  { about, at, facts, newest, link, why, settingsUrl }: Parts,
  { unsubscribeUrl }: EmailReader,
): string {
  const { icon, text, url, digest, urgent } = message;
  const title = titleOf({ ...message, icon: null });
  const iconCell =
    icon === null
      ? ""
      : `<td valign="top" style="padding: 2px 14px 0 0"><div class="icon" style="width: 44px; height: 44px; background: #f3f0eb; border-radius: 10px; font-size: 22px; line-height: 44px; text-align: center">${Bun.escapeHTML(icon)}</div></td>`;
  const description = text
    ? `
      <div class="strong" dir="auto" style="margin-top: 18px; font-size: 14px; line-height: 21px; color: #26241f; word-break: break-word">${markdownHtml(text)}</div>`
    : "";
  const newestTable = newest
    ? `
      <div class="soft" style="margin-top: 18px; font-size: 12px; line-height: 18px; font-weight: 600; color: #77716a">${newest.heading}</div>${digestTable(newest)}`
    : "";
  const card = `
      <table role="presentation" cellpadding="0" cellspacing="0"><tr>${iconCell}<td valign="middle">
        <div class="${urgent ? "urgent" : "strong"}" dir="auto" style="font-size: 18px; line-height: 24px; font-weight: 600; color: ${urgent ? "#b3261e" : "#26241f"}; word-break: break-word">${Bun.escapeHTML(title)}</div>
        <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a; word-break: break-word">${Bun.escapeHTML(about)}</div>
        <div class="soft" style="font-size: 13px; line-height: 20px; color: #77716a">${Bun.escapeHTML(at)}</div>
      </td></tr></table>${newest ? "" : factTable(facts)}${description}${newestTable}${newest ? factTable(facts) : ""}${digest ? digestTable(digest) : ""}
      ${emailButton(link, url)}${actionLinks(message)}`;
  const footerLinks = [
    softLink("Change notification settings", settingsUrl),
    ...(unsubscribeUrl ? [softLink("Unsubscribe", unsubscribeUrl)] : []),
  ];
  return emailPage({ title, card, footer: `${Bun.escapeHTML(why)}<br>${footerLinks.join(" · ")}` });
}

/** Of the event whose channel and user stand above, or else what the message has. */
function factsOf(shown: Event | null | undefined, { fields }: Message): Message["fields"] {
  return shown ? Object.entries(shown.tags).map(([name, value]) => ({ name, value })) : fields;
}

function factLines(facts: Message["fields"]): string {
  return facts.map(({ name, value }) => `${name}: ${value}`).join("\n");
}

function factTable(facts: Message["fields"]): string {
  if (facts.length === 0) return "";
  const rows = facts.map(
    ({ name, value }, index) => `
        <tr>
          <td class="soft line" valign="top" style="padding: 7px 16px 7px 0; color: #77716a; ${keyStyle(name)}${rowBorder(index)}" dir="auto">${Bun.escapeHTML(name)}</td>
          <td class="strong line" valign="top" width="100%" style="padding: 7px 0; color: #26241f; white-space: pre-wrap; word-break: break-word${rowBorder(index)}" dir="auto">${Bun.escapeHTML(value)}</td>
        </tr>`,
  );
  return `
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin-top: 18px; border-collapse: collapse; font-size: 14px; line-height: 20px">${rows.join("")}
      </table>`;
}

function actionLinks(message: Message): string {
  const links = alertActionsOf(message).map(({ label, url }) => softLink(label, url));
  if (links.length === 0) return "";
  return `
      <div class="soft" style="margin-top: 14px; font-size: 13px; line-height: 20px; color: #77716a">${links.join(" · ")}</div>`;
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
