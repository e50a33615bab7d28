import { problem } from "../core/problems.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";
import type { WebhookMapping } from "../schemas/webhook.ts";
import { atMost, longText, parseLogLines } from "./log-lines.ts";

/** A line of the router or a dyno. Heroku leaves the structured data of RFC 5424 out. */
type Line = {
  facility: number;
  severity: string;
  time: string;
  host: string;
  /** `app` for the application's own output, `heroku` for the platform's. */
  app: string;
  /** `web.1`, `router`. */
  process: string;
  message: string;
  /** What the router says of a request, such as `status` and `path`. */
  fields: Record<string, string>;
};

/** RFC 5424, section 6.2.1. */
const severities = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];
const frame = /^<(\d{1,3})>1 (\S+) (\S+) (\S+) (\S+) (\S+) ?([\s\S]*)$/;
const field = /(?:^|\s)([\w#.]+)=(?:"([^"]*)"|(\S*))/g;
const decoder = new TextDecoder();
const space = 0x20;
const bracketOpen = "[".charCodeAt(0);
const digitsMax = 7;
/** The part of a router's message whose fields are read. It has about 15, and Logplex splits lines of 10,000 bytes. */
const fieldCharacters = 10_000;
const fieldsMax = 50;

/**
 * The lines of a request: syslog messages, each after its length in bytes (RFC 6587, section 3.4.1;
 * https://devcenter.heroku.com/articles/log-drains). Throws `body-malformed`.
 */
export async function parseLogplex(bytes: Uint8Array, owner: TurnOwner): Promise<unknown[]> {
  // Lines that were parsed before, as the dashboard sends them to try a mapping.
  if (bytes[0] === bracketOpen) return parseLogLines(bytes, owner);
  const lines: Line[] = [];
  const turns = new Turns(owner);
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.subarray(at, at + digitsMax + 1).indexOf(space) + at;
    const digits = decoder.decode(bytes.subarray(at, Math.max(end, at)));
    const length = /^\d+$/.test(digits) ? Number(digits) : 0;
    const start = end + 1;
    if (length === 0 || start + length > bytes.length) throw malformed(at);
    const line = lineOf(decoder.decode(bytes.subarray(start, start + length)));
    if (!line) throw malformed(at);
    lines.push(line);
    atMost(lines);
    at = start + length;
    if (turns.isOver) await turns.next();
  }
  return lines;
}

function lineOf(text: string): Line | null {
  const [, priority, time, host, app, process, , message] = frame.exec(text) ?? [];
  if (message === undefined) return null;
  const isRequest = app === "heroku" && process === "router";
  return {
    facility: Number(priority) >> 3,
    severity: severities[Number(priority) & 7]!,
    time: time!,
    host: host!,
    app: app!,
    process: process!,
    message: message.trimEnd(),
    fields: isRequest ? fieldsOf(message) : {},
  };
}

function fieldsOf(message: string): Record<string, string> {
  const fields: [name: string, value: string][] = [];
  for (const [, name, quoted, plain] of message.slice(0, fieldCharacters).matchAll(field)) {
    fields.push([name!, quoted ?? plain ?? ""]);
    if (fields.length === fieldsMax) break;
  }
  return Object.fromEntries(fields);
}

function malformed(at: number): Error {
  const detail = `The body must have syslog messages with their lengths, as Heroku's HTTPS drains send them. At byte ${at.toLocaleString("en")} is none.`;
  return problem("body-malformed", { detail });
}

export const herokuValues = (line: unknown): Record<string, string> =>
  longText((line as { message?: unknown } | null)?.message);

const common = {
  createdAt: "{{time}}",
  tags: { process: "{{process}}", source: "{{app}}", severity: "{{severity}}" },
};
const request = {
  ...common,
  tags: {
    ...common.tags,
    method: "{{fields.method}}",
    host: "{{fields.host}}",
    status: "{{fields.status}}",
    code: "{{fields.code}}",
    service: "{{fields.service}}",
    dyno: "{{fields.dyno}}",
    requestId: "{{fields.request_id}}",
  },
};

/** The router's codes are errors (https://devcenter.heroku.com/articles/error-codes). Addresses of visitors are left out. */
export const herokuMappings: WebhookMapping[] = [
  { ...request, when: "fields.code", name: '{{fields.desc ?? "Request failed"}}', icon: "❌", notify: true },
  { ...request, when: "fields.status >= 500", name: "Request failed", icon: "❌" },
  { ...request, when: "fields.status", name: "Request" },
  { ...common, when: "message", name: "{{message}}", description: "{{@text}}" },
];
