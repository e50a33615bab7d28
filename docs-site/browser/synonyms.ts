/** Other words for things: whoever searches for one of `words` also finds what `means` says, as the pages call it. */
export const synonyms: { words: string[]; means: string[] }[] = [
  { words: ["gdpr", "dsgvo", "ccpa", "right to be forgotten", "personal data"], means: ["erasing user"] },
  {
    words: ["identity resolution", "identity stitching", "distinct id", "anonymous id", "merge users"],
    means: ["several ids", "one person"],
  },
  { words: ["segments", "segment of users", "audience", "audiences"], means: ["cohorts"] },
  { words: ["docker", "podman"], means: ["in containers"] },
  { words: ["k8s", "helm chart", "gke", "eks"], means: ["kubernetes"] },
  { words: ["nextjs", "next.js"], means: ["next js"] },
  {
    words: ["page views", "pageviews", "pageview", "web analytics", "google analytics"],
    means: ["websites"],
  },
  { words: ["plausible", "umami", "matomo", "visitors", "bounce rate"], means: ["websites"] },
  { words: ["429", "too many requests", "throttling"], means: ["rate limits", "rate limited"] },
  { words: ["cors", "cross-origin", "access-control-allow-origin"], means: ["publishable keys", "origins"] },
  { words: ["sso", "oidc", "single sign-on"], means: ["openid connect"] },
  { words: ["2fa", "mfa", "totp"], means: ["two-factor", "second factor"] },
  { words: ["login", "signin"], means: ["sign in"] },
  { words: ["sdk", "javascript", "typescript", "nodejs", "node.js"], means: ["client library"] },
  { words: ["ssl", "tls", "certificate"], means: ["https"] },
  { words: ["env", "environment variables"], means: ["settings"] },
  { words: ["dead letter", "dlq"], means: ["rejected events"] },
  { words: ["deduplication", "exactly once", "duplicates"], means: ["idempotency"] },
  {
    words: ["cron monitoring", "healthcheck", "healthchecks", "dead man's switch", "watchdog", "uptime"],
    means: ["heartbeats"],
  },
  {
    words: ["maintenance window", "maintenance windows", "mute timing", "downtime", "inhibition"],
    means: ["silences"],
  },
  { words: ["pager", "rota", "roster", "shifts", "hand-over", "standby"], means: ["on call"] },
  { words: ["update", "new version"], means: ["upgrades"] },
  { words: ["graph", "graphs", "analytics"], means: ["boards", "charts"] },
];
