import type { WebhookMapping } from "../schemas/webhook.ts";

type Case = Pick<WebhookMapping, "name" | "icon" | "notify" | "description" | "tags">;

const common = {
  userId: "{{sender.login}}",
  tags: { repository: "{{repository.full_name ?? organization.login}}", url: "{{repository.html_url}}" },
};

const pullRequest = {
  description: "{{pull_request.title}}",
  tags: {
    number: "{{pull_request.number}}",
    branch: "{{pull_request.head.ref}}",
    url: "{{pull_request.html_url}}",
  },
};
const issue = {
  description: "{{issue.title}}",
  tags: { number: "{{issue.number}}", url: "{{comment.html_url ?? issue.html_url}}" },
};
const run = {
  description: "{{workflow_run.display_title}}",
  tags: {
    workflow: "{{workflow_run.name}}",
    branch: "{{workflow_run.head_branch}}",
    conclusion: "{{workflow_run.conclusion}}",
    url: "{{workflow_run.html_url}}",
  },
};
const ref = { tags: { branch: "{{ref}}", url: "{{compare ?? repository.html_url}}" } };

/** The common events (https://docs.github.com/en/webhooks/webhook-events-and-payloads), by condition. */
const events: [event: string, when: string, mapped: Case][] = [
  ["ping", "", { name: "Webhook connected", icon: "🔗", description: "{{zen}}" }],
  ["push", "not deleted", { name: "Push", icon: "⬆️", description: "{{head_commit.message}}", ...ref }],
  ["create", 'ref_type == "tag"', { name: "Tag created", icon: "🏷️", tags: { tag: "{{ref}}" } }],
  ["create", "", { name: "Branch created", icon: "🌱", ...ref }],
  ["delete", 'ref_type == "tag"', { name: "Tag deleted", icon: "🍂", tags: { tag: "{{ref}}" } }],
  ["delete", "", { name: "Branch deleted", icon: "🍂", ...ref }],
  ["pull_request", 'action == "opened"', { name: "Pull request opened", icon: "🔀", ...pullRequest }],
  ["pull_request", 'action == "reopened"', { name: "Pull request reopened", icon: "🔀", ...pullRequest }],
  [
    "pull_request",
    'action == "closed" and pull_request.merged',
    { name: "Pull request merged", icon: "🎉", ...pullRequest },
  ],
  ["pull_request", 'action == "closed"', { name: "Pull request closed", icon: "🚪", ...pullRequest }],
  [
    "pull_request_review",
    'action == "submitted"',
    {
      name: "Pull request reviewed",
      icon: "👀",
      ...pullRequest,
      tags: { ...pullRequest.tags, state: "{{review.state}}", url: "{{review.html_url}}" },
    },
  ],
  ["issues", 'action == "opened"', { name: "Issue opened", icon: "🐛", ...issue }],
  ["issues", 'action == "reopened"', { name: "Issue reopened", icon: "🐛", ...issue }],
  ["issues", 'action == "closed"', { name: "Issue closed", icon: "✅", ...issue }],
  ["issue_comment", 'action == "created"', { name: "Comment added", icon: "💬", ...issue }],
  [
    "release",
    'action == "published"',
    {
      name: "Release published",
      icon: "🚀",
      notify: true,
      description: "{{release.name ?? release.tag_name}}",
      tags: { version: "{{release.tag_name}}", url: "{{release.html_url}}" },
    },
  ],
  [
    "workflow_run",
    'action == "completed" and workflow_run.conclusion == "failure"',
    { name: "Workflow failed", icon: "❌", notify: true, ...run },
  ],
  ["workflow_run", 'action == "completed"', { name: "Workflow completed", icon: "✅", ...run }],
  [
    "deployment_status",
    "",
    {
      name: "Deployment {{deployment_status.state}}",
      icon: "📦",
      tags: { environment: "{{deployment.environment}}", branch: "{{deployment.ref}}" },
    },
  ],
  ["star", 'action == "created"', { name: "Repository starred", icon: "⭐" }],
  ["fork", "", { name: "Repository forked", icon: "🍴", tags: { url: "{{forkee.html_url}}" } }],
  [
    "dependabot_alert",
    'action == "created"',
    {
      name: "Vulnerable dependency",
      icon: "🚨",
      notify: true,
      description: "{{alert.security_advisory.summary}}",
      tags: {
        severity: "{{alert.security_advisory.severity}}",
        package: "{{alert.dependency.package.name}}",
        url: "{{alert.html_url}}",
      },
    },
  ],
];

const known = [...new Set(events.map(([event]) => event))];

/** Other actions of these events are ignored, such as a label on an issue. Other events are recorded by their name. */
export const githubMappings: WebhookMapping[] = [
  ...events.map(([event, when, mapped]) => ({
    ...common,
    ...mapped,
    when: `@x-github-event == "${event}"${when && ` and ${when}`}`,
    tags: { ...common.tags, ...mapped.tags },
  })),
  {
    ...common,
    when: known.map((event) => `@x-github-event != "${event}"`).join(" and "),
    name: "{{@x-github-event}}",
    tags: { ...common.tags, action: "{{action}}" },
  },
];
