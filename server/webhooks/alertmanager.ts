import type { WebhookMapping } from "../schemas/webhook.ts";

/**
 * An item for each alert of a notification, with the rest of the notification as `group`
 * (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config). Grafana sends the same form.
 */
export function alertsIn(body: unknown): unknown[] {
  const { alerts, ...group } = (typeof body === "object" && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  if (!Array.isArray(alerts)) return [];
  return alerts.map((alert) => {
    const item = typeof alert === "object" && alert !== null && !Array.isArray(alert) ? { ...alert } : {};
    // Templates find it by its name, but the whole alert as JSON is without it: each would have it once more.
    return Object.defineProperty(item, "group", { value: group });
  });
}

/**
 * What tells an alert's changes apart: it is sent again while it fires, and with the others of its group. Each time it
 * starts, and each time it is resolved, is one event.
 */
export function alertIdOf(alert: unknown): string | null {
  const { fingerprint, startsAt, status } = (alert ?? {}) as Record<string, unknown>;
  if (typeof fingerprint !== "string" || fingerprint === "") return null;
  return `${fingerprint} ${String(startsAt)} ${String(status)}`;
}

/**
 * Tags of both. `since` is no `createdAt`: an alert can be hours old when its silence ends, and old events notify nobody.
 */
export const alertTags = {
  alert: "{{labels.alertname}}",
  severity: "{{labels.severity}}",
  instance: "{{labels.instance}}",
  job: "{{labels.job}}",
  service: "{{labels.service}}",
  namespace: "{{labels.namespace}}",
  receiver: "{{group.receiver}}",
  since: "{{startsAt}}",
};

const common = {
  description: '{{annotations.summary ?? annotations.description ?? labels.alertname ?? "An alert"}}',
  tags: { ...alertTags, url: "{{annotations.runbook_url ?? generatorURL}}" },
};

export const alertmanagerMappings: WebhookMapping[] = [
  {
    ...common,
    when: 'status == "resolved"',
    name: "Alert resolved",
    icon: "✅",
    tags: { ...common.tags, until: "{{endsAt}}" },
  },
  { ...common, name: "Alert firing", icon: "🚨", notify: true },
];
