import type { WebhookMapping } from "../schemas/webhook.ts";
import { longText } from "./log-lines.ts";

export const netlifyValues = (line: unknown): Record<string, string> =>
  longText((line as { message?: unknown } | null)?.message);

const common = {
  description: "{{@text}}",
  createdAt: "{{timestamp}}",
  tags: {
    level: "{{level}}",
    type: "{{log_type}}",
    site: "{{site_id}}",
    deploy: "{{deploy_id}}",
    function: "{{function_name}}",
    section: "{{deploy_section}}",
    method: "{{method ?? request.method}}",
    path: "{{request_path ?? url ?? request.url}}",
    status: "{{status_code}}",
    durationMs: "{{duration}}",
    country: "{{country}}",
    requestId: "{{request_id}}",
  },
};

/** Lines of a drain (https://docs.netlify.com/manage/monitoring/log-drains/). Addresses of visitors are left out. */
export const netlifyMappings: WebhookMapping[] = [
  { ...common, when: 'log_type == "waf"', name: "Firewall {{action.type}}", icon: "🛡️" },
  { ...common, when: 'level == "error" or level == "ERROR"', name: '{{message ?? "Error"}}', icon: "❌" },
  { ...common, when: "message", name: "{{message}}" },
  { ...common, when: "status_code >= 500", name: "Request failed", icon: "❌" },
  { ...common, name: "Request" },
];
