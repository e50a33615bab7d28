import type { WebhookMapping } from "../schemas/webhook.ts";

type Notification = { heartbeat?: { monitorID?: unknown; status?: unknown; time?: unknown } | null } | null;

/** UTC, without saying so. */
const time = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)$/;

/** What mappings can use besides the body: `@time`, when the state changed, with its zone. */
export function uptimeKumaValues(body: unknown): Record<string, string> {
  const found = time.exec(String((body as Notification)?.heartbeat?.time ?? ""));
  return found ? { time: `${found[1]}T${found[2]}Z` } : {};
}

/** Null for notifications about something else than a change of state, such as an expiring certificate. */
export function heartbeatIdOf(body: unknown): string | null {
  const { monitorID, status, time: at } = (body as Notification)?.heartbeat ?? {};
  return at === undefined ? null : `${String(monitorID)} ${String(status)} ${String(at)}`;
}

const common = {
  description: "{{heartbeat.msg ?? msg}}",
  createdAt: "{{@time}}",
  tags: {
    monitor: "{{monitor.name}}",
    type: "{{monitor.type}}",
    url: "{{monitor.url}}",
    host: "{{monitor.hostname}}",
    ping: "{{heartbeat.ping}}",
  },
};

/** By the states of heartbeats (https://github.com/louislam/uptime-kuma, src/util.ts). */
const states: [status: number, mapped: Omit<WebhookMapping, "when">][] = [
  [0, { name: "Monitor down", icon: "🔴", notify: true }],
  [1, { name: "Monitor up", icon: "🟢" }],
  [2, { name: "Monitor pending", icon: "🟡" }],
  [3, { name: "Monitor in maintenance", icon: "🔧" }],
];

export const uptimeKumaMappings: WebhookMapping[] = [
  ...states.map(([status, mapped]) => ({ ...common, ...mapped, when: `heartbeat.status == "${status}"` })),
  // Test messages, and certificates that expire.
  { ...common, name: "Monitor message", icon: "📟" },
];
