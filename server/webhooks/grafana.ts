import type { WebhookMapping } from "../schemas/webhook.ts";
import { alertTags } from "./alertmanager.ts";

const common = {
  description: '{{annotations.summary ?? annotations.description ?? labels.alertname ?? "An alert"}}',
  tags: {
    ...alertTags,
    folder: "{{labels.grafana_folder}}",
    values: "{{valueString}}",
    url: "{{panelURL ?? dashboardURL ?? generatorURL}}",
    silence: "{{silenceURL}}",
  },
};

/**
 * Alerts of a webhook contact point
 * (https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/).
 */
export const grafanaMappings: WebhookMapping[] = [
  {
    ...common,
    when: 'status == "resolved"',
    name: "Alert resolved",
    icon: "✅",
    tags: { ...common.tags, until: "{{endsAt}}" },
  },
  { ...common, name: "Alert firing", icon: "🚨", notify: true },
];
