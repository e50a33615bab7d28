import type { WebhookRequest, WebhookSource } from "../../server/schemas/webhook.ts";

/** A request to try a mapping on. */
export type Sample = {
  body: string;
  headers: Record<string, string>;
  /** The kept request whose body this is. */
  request?: string;
};

const order = {
  id: "ord_1042",
  type: "order.paid",
  customer: { id: "cus_1042", email: "ada@example.com" },
  amount: 49.5,
  items: [{ product: "Geisha Reserve", quantity: 2 }],
};
const paymentIntent = {
  id: "pi_1",
  object: "payment_intent",
  amount: 4950,
  currency: "eur",
  customer: "cus_1042",
  status: "succeeded",
};
const pullRequest = {
  number: 7,
  title: "Add a wheel",
  merged: true,
  html_url: "https://github.com/a/b/pull/7",
};
const alert = {
  status: "firing",
  labels: { alertname: "HighLatency", severity: "critical", instance: "web-1" },
  annotations: { summary: "Requests take 2 s" },
  startsAt: "2026-11-26T12:00:00Z",
  fingerprint: "a1b2c3d4e5f60718",
};
const notification = { receiver: "tidings", status: "firing", alerts: [alert] };

const samples: Partial<Record<WebhookSource, { body: unknown; headers?: Record<string, string> }>> = {
  stripe: {
    body: { id: "evt_1", type: "payment_intent.succeeded", livemode: true, data: { object: paymentIntent } },
  },
  github: {
    body: {
      action: "closed",
      pull_request: { ...pullRequest, head: { ref: "wheel" } },
      repository: { full_name: "a/b", html_url: "https://github.com/a/b" },
      sender: { login: "ada" },
    },
    headers: { "x-github-event": "pull_request" },
  },
  sentry: {
    body: {
      action: "created",
      actor: { name: "Sentry" },
      data: {
        issue: { title: "TypeError: no stock", shortId: "SHOP-7", project: { slug: "shop" }, level: "error" },
      },
    },
    headers: { "sentry-hook-resource": "issue" },
  },
  alertmanager: { body: notification },
  grafana: { body: notification },
  "uptime-kuma": {
    body: {
      heartbeat: {
        monitorID: 29,
        status: 0,
        time: "2026-11-26 12:00:00.000",
        msg: "timeout of 48000ms exceeded",
      },
      monitor: { name: "Shop", type: "http", url: "https://shop.example.com" },
      msg: "[Shop] [🔴 Down] timeout of 48000ms exceeded",
    },
  },
  vercel: {
    body: [
      {
        id: "1573817187330377061717300000",
        message: "No stock left",
        timestamp: 1573817187330,
        source: "lambda",
        level: "error",
        projectName: "shop",
        path: "/api/orders",
        statusCode: 500,
      },
    ],
  },
  netlify: {
    body: [
      {
        timestamp: "2026-11-26T12:00:00.000Z",
        log_type: "functions",
        level: "error",
        message: "No stock left",
      },
    ],
  },
  heroku: {
    body: [
      {
        severity: "info",
        time: "2026-11-26T12:00:00.000000+00:00",
        app: "app",
        process: "web.1",
        message: "Order placed",
        fields: {},
      },
    ],
  },
  cloudflare: {
    body: {
      RayID: "3ec81d7a6b4d3f2a",
      EdgeStartTimestamp: "2026-11-26T12:00:00Z",
      EdgeResponseStatus: 502,
      ClientRequestMethod: "GET",
      ClientRequestHost: "shop.example.com",
      ClientRequestPath: "/orders",
    },
  },
};

export function sampleFor(source: WebhookSource): Sample {
  const { body = order, headers } = samples[source] ?? {};
  return sampleOf(body, headers);
}

export function sampleOfRequest({ id, body, headers }: WebhookRequest): Sample {
  return { ...sampleOf(JSON.parse(body ?? "null"), headers), request: id };
}

function sampleOf(body: unknown, headers: Record<string, string> = {}): Sample {
  return { body: JSON.stringify(body, null, 2), headers };
}
