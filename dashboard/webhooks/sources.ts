import type { WebhookSource } from "../../server/schemas/webhook.ts";

type SourceText = {
  label: string;
  hint: string;
  /** Says where the sender shows the signing secret, or asks for it. */
  secretHint?: string;
  /** Whether requests are taken without the secret, because not all senders of this kind sign. */
  isSecretOptional?: true;
  /** Whether events are ready, so that a mapping isn't needed. */
  hasEvents?: true;
};

/** In the order in which they are offered. */
export const sources: Record<WebhookSource, SourceText> = {
  stripe: {
    label: "Stripe",
    hint: "Payments, subscriptions, disputes",
    secretHint: "Stripe shows it after you add the address there. It begins with whsec_.",
    hasEvents: true,
  },
  github: {
    label: "GitHub",
    hint: "Pushes, pull requests, releases",
    secretHint: "Enter the same secret in GitHub. Choose the content type application/json there.",
    hasEvents: true,
  },
  sentry: {
    label: "Sentry",
    hint: "Issues and alerts of an internal integration",
    secretHint: "It is the client secret of the integration.",
    hasEvents: true,
  },
  grafana: {
    label: "Grafana",
    hint: "Alerts of a webhook contact point",
    secretHint: "Enter the same secret in Grafana, as HMAC signature.",
    isSecretOptional: true,
    hasEvents: true,
  },
  alertmanager: { label: "Alertmanager", hint: "Alerts of Prometheus", hasEvents: true },
  "uptime-kuma": { label: "Uptime Kuma", hint: "Monitors that go down and up", hasEvents: true },
  vercel: {
    label: "Vercel",
    hint: "Log drain",
    secretHint: "It is the drain's signature verification secret.",
    hasEvents: true,
  },
  netlify: { label: "Netlify", hint: "Log drain", hasEvents: true },
  heroku: {
    label: "Heroku",
    hint: "HTTPS log drain",
    secretHint: "It is the token that heroku drains shows, such as d.fc6b856b-3332-4546.",
    isSecretOptional: true,
    hasEvents: true,
  },
  cloudflare: { label: "Cloudflare", hint: "Logpush to HTTP", hasEvents: true },
  "standard-webhooks": {
    label: "Standard Webhooks",
    hint: "Signed by standardwebhooks.com",
    secretHint: "The sender shows it. It begins with whsec_.",
  },
  hmac: {
    label: "Signed with HMAC",
    hint: "HMAC-SHA256 of the body, in a header",
    secretHint: "The sender signs with the same secret.",
  },
  plain: { label: "Any other service", hint: "JSON or a form, at a secret address" },
};
