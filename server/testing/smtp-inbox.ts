import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { Arrivals } from "./arrivals.ts";

export type ReceivedEmail = {
  /** The envelope's sender and recipients, as bare addresses. */
  from: string;
  to: string[];
  /** The message as received, including headers. */
  raw: string;
  /** By name in lower case, unfolded, with encoded words decoded (RFC 2047). */
  headers: Record<string, string>;
  subject: string;
  /** The text/plain part; empty if there is none. */
  text: string;
  /** The text/html part; empty if there is none. */
  html: string;
};

export type SmtpInbox = Awaited<ReturnType<typeof smtpInbox>>;

type InboxOptions = {
  /** Requires this name and password, which the inbox's URL includes. */
  auth?: { user: string; password: string };
};

/**
 * Starts a real SMTP server on loopback that keeps the messages it receives.
 *
 * @example
 * await using inbox = await smtpInbox();
 * const mailer = createMailer(inbox.url, "tidings@example.com");
 * const { subject, text } = await inbox.next();
 */
export async function smtpInbox({ auth }: InboxOptions = {}) {
  const arrivals = new Arrivals<ReceivedEmail>();
  const refusals: number[] = [];
  const server = new SMTPServer({
    disabledCommands: auth ? ["STARTTLS"] : ["STARTTLS", "AUTH"],
    authOptional: auth === undefined,
    // There is no TLS on loopback.
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth({ username, password }, _session, callback) {
      const isKnown = username === auth?.user && password === auth?.password;
      callback(isKnown ? null : new Error("Invalid name or password"), { user: username });
    },
    onRcptTo(_address, _session, callback) {
      const code = refusals.shift();
      callback(
        code === undefined ? null : Object.assign(new Error("Refused on purpose"), { responseCode: code }),
      );
    },
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const raw = Buffer.concat(chunks).toString();
        arrivals.add({
          from: envelope.mailFrom === false ? "" : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          raw,
          ...parseMessage(raw),
        });
        callback(null);
      });
    },
  });
  // Clients that disconnect mid-transaction are not errors of the inbox.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  const login = auth ? `${encodeURIComponent(auth.user)}:${encodeURIComponent(auth.password)}@` : "";
  const close = () => new Promise<void>((resolve) => server.close(resolve));

  return {
    /** The URL for a mailer, with name and password if required. */
    url: `smtp://${login}127.0.0.1:${port}`,
    received: arrivals.all,
    /** Resolves to the earliest message not taken yet; rejects if none arrives within `timeoutMs`. */
    next: (timeoutMs?: number) => arrivals.next(timeoutMs),
    /** The next recipient is refused with this SMTP code. Each call adds one refusal. */
    refuseNext(code: number): void {
      refusals.push(code);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Parses the subset of MIME (RFC 2045 to 2047) that nodemailer writes: nested parts, quoted-printable and base64. */
function parseMessage(raw: string): Pick<ReceivedEmail, "headers" | "subject" | "text" | "html"> {
  const { headers, body } = splitPart(raw);
  const leaves = leavesOf(headers, body);
  const find = (type: string) => leaves.find((leaf) => leaf.type === type)?.content ?? "";
  return { headers, subject: headers.subject ?? "", text: find("text/plain"), html: find("text/html") };
}

type Leaf = { type: string; content: string };

function leavesOf(headers: Record<string, string>, body: string): Leaf[] {
  const contentType = headers["content-type"] ?? "text/plain";
  const boundary = contentType.match(/boundary="?([^";]+)"?/i)?.[1];
  if (boundary !== undefined) {
    // Text before the first boundary and after the last one is not content.
    const parts = `\r\n${body}`.split(`\r\n--${boundary}`).slice(1, -1);
    return parts.flatMap((part) => {
      const inner = splitPart(part.replace(/^[ \t]*\r\n/, ""));
      return leavesOf(inner.headers, inner.body);
    });
  }
  const type = contentType.split(";")[0]!.trim().toLowerCase();
  return [{ type, content: decodeBody(body, headers["content-transfer-encoding"]?.toLowerCase() ?? "7bit") }];
}

function splitPart(part: string): { headers: Record<string, string>; body: string } {
  const [head, ...rest] = part.split("\r\n\r\n");
  const lines = head!.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = decodeWords(line.slice(colon + 1).trim());
  }
  return { headers, body: rest.join("\r\n\r\n") };
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === "base64") return lineEnds(Buffer.from(body, "base64").toString());
  if (encoding === "quoted-printable") return lineEnds(decodeQuoted(body.replace(/=[ \t]*\r\n/g, "")));
  return lineEnds(body);
}

/** `=?utf-8?Q?…?=` and `=?utf-8?B?…?=`; white space between two of them is not part of the text. */
function decodeWords(header: string): string {
  return header
    .replace(/(\?=)\s+(?==\?)/g, "$1")
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === "b"
        ? Buffer.from(text, "base64").toString()
        : decodeQuoted(text.replaceAll("_", " ")),
    );
}

function decodeQuoted(text: string): string {
  const bytes = text.replace(/=([\dA-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString();
}

function lineEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
