import type { WebhookMapping } from "../schemas/webhook.ts";

type Case = Omit<WebhookMapping, "when">;

const issue = {
  description: "{{data.issue.title}}",
  userId: "{{actor.name}}",
  tags: {
    project: "{{data.issue.project.slug}}",
    issue: "{{data.issue.shortId}}",
    level: "{{data.issue.level}}",
    substatus: "{{data.issue.substatus}}",
    culprit: "{{data.issue.culprit}}",
    url: "{{data.issue.web_url ?? data.issue.permalink}}",
  },
};
const metric = {
  description: "{{data.description_title}}: {{data.description_text}}",
  tags: {
    rule: "{{data.metric_alert.alert_rule.name}}",
    project: "{{data.metric_alert.projects[0]}}",
    url: "{{data.web_url}}",
  },
};

/** The resources (https://docs.sentry.io/organization/integrations/integration-platform/webhooks/), by their actions. */
const events: [resource: string, action: string, mapped: Case][] = [
  ["issue", "created", { name: "Issue created", icon: "🐛", ...issue }],
  ["issue", "resolved", { name: "Issue resolved", icon: "✅", ...issue }],
  ["issue", "unresolved", { name: "Issue reopened", icon: "🐛", ...issue }],
  ["issue", "assigned", { name: "Issue assigned", icon: "👤", ...issue }],
  ["issue", "archived", { name: "Issue archived", icon: "🗄️", ...issue }],
  [
    "event_alert",
    "triggered",
    {
      name: "Issue alert",
      icon: "🚨",
      notify: true,
      description: "{{data.event.title}}",
      tags: {
        rule: "{{data.triggered_rule}}",
        level: "{{data.event.level}}",
        culprit: "{{data.event.culprit}}",
        environment: "{{data.event.environment}}",
        release: "{{data.event.release}}",
        url: "{{data.event.web_url}}",
      },
    },
  ],
  ["metric_alert", "critical", { name: "Metric alert critical", icon: "🚨", notify: true, ...metric }],
  ["metric_alert", "warning", { name: "Metric alert warning", icon: "⚠️", ...metric }],
  ["metric_alert", "resolved", { name: "Metric alert resolved", icon: "✅", ...metric }],
];

const known = [...new Set(events.map(([resource]) => resource))];

/** Other resources, such as comments, are recorded by their name and action. */
export const sentryMappings: WebhookMapping[] = [
  ...events.map(([resource, action, mapped]) => ({
    ...mapped,
    when: `@sentry-hook-resource == "${resource}" and action == "${action}"`,
  })),
  {
    when: known.map((resource) => `@sentry-hook-resource != "${resource}"`).join(" and "),
    name: "{{@sentry-hook-resource}} {{action}}",
    userId: "{{actor.name}}",
    tags: { project: "{{data.project_slug}}", url: "{{data.error.web_url}}" },
  },
];
