import type { WebhookMapping } from "../schemas/webhook.ts";

/** Nanoseconds since 1970, one of the formats that a job can have for times. */
const nanoseconds = /^\d{19}$/;

type Line = Record<string, unknown> | null;

/** What mappings can use besides a line: `@time`, in whichever format the job writes it. */
export function cloudflareValues(line: unknown): Record<string, string> {
  const { EdgeStartTimestamp, EventTimestampMs, Datetime, Timestamp } = (line ?? {}) as NonNullable<Line>;
  const time = EdgeStartTimestamp ?? EventTimestampMs ?? Datetime ?? Timestamp;
  if (typeof time !== "string" && typeof time !== "number") return {};
  const text = String(time);
  return { time: nanoseconds.test(text) ? text.slice(0, -6) : text };
}

/** The ray, of a dataset that has one line for each. The firewall has one for each rule of a request. */
export function cloudflareLineId(line: unknown): string | null {
  const { RayID, EdgeResponseStatus, RuleID } = (line ?? {}) as NonNullable<Line>;
  return typeof RayID === "string" && EdgeResponseStatus !== undefined && RuleID === undefined ? RayID : null;
}

const request = {
  createdAt: "{{@time}}",
  tags: {
    method: "{{ClientRequestMethod}}",
    host: "{{ClientRequestHost}}",
    path: "{{ClientRequestPath}}",
    status: "{{EdgeResponseStatus}}",
    originStatus: "{{OriginResponseStatus}}",
    cache: "{{CacheCacheStatus}}",
    country: "{{ClientCountry}}",
    rayId: "{{RayID}}",
  },
};

/**
 * Lines of Logpush (https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/). Addresses of visitors and
 * queries are left out. Before a job starts, Cloudflare sends a file with `{"content":"tests"}`, which is ignored.
 */
export const cloudflareMappings: WebhookMapping[] = [
  // Lines of the firewall can have the status, too.
  {
    when: "Action and RuleID",
    name: "Firewall {{Action}}",
    icon: "🛡️",
    createdAt: "{{@time}}",
    tags: { ...request.tags, source: "{{Source}}", rule: "{{Description ?? RuleID}}" },
  },
  { ...request, when: "EdgeResponseStatus >= 500", name: "Request failed", icon: "❌" },
  { ...request, when: "EdgeResponseStatus", name: "Request" },
  {
    when: "ScriptName",
    name: "Worker {{Outcome}}",
    createdAt: "{{@time}}",
    description: "{{Exceptions[0].Message}}",
    tags: { script: "{{ScriptName}}", event: "{{EventType}}", outcome: "{{Outcome}}" },
  },
  {
    when: 'not content or content != "tests"',
    name: "Log line",
    createdAt: "{{@time}}",
    description: "{{$}}",
  },
];
