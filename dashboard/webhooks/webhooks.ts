import { queryOptions } from "@tanstack/react-query";
import type {
  Webhook,
  WebhookPreview,
  WebhookPreviewResponse,
  WebhookRequest,
  WebhookSource,
} from "../../server/schemas/webhook.ts";
import { api } from "../api.ts";

export function webhooksQuery(project: string) {
  return queryOptions({
    queryKey: ["webhooks", project],
    queryFn: async () =>
      (await api<{ ok: true; webhooks: Webhook[] }>("/api/webhooks", { query: { project } })).webhooks,
    // Requests arrive at any time, and nothing reports them.
    refetchInterval: 15_000,
  });
}

export function webhookRequestsQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["webhook-requests", project, id],
    queryFn: async () =>
      (
        await api<{ ok: true; requests: WebhookRequest[] }>(`/api/webhooks/${id}/requests`, {
          query: { project },
        })
      ).requests,
    refetchInterval: 5_000,
  });
}

/** A webhook's address, for those who manage webhooks. It isn't kept longer than it is shown. */
export function webhookUrlQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["webhook-url", project, id],
    queryFn: async () =>
      (await api<{ ok: true; url: string }>(`/api/webhooks/${id}/url`, { query: { project } })).url,
    staleTime: 0,
    gcTime: 0,
  });
}

export function webhookPreviewQuery(project: string, preview: WebhookPreview) {
  return queryOptions({
    queryKey: ["webhook-preview", project, preview],
    queryFn: ({ signal }) =>
      api<WebhookPreviewResponse>("/api/webhooks/preview", {
        method: "POST",
        query: { project },
        body: preview,
        signal,
      }),
    retry: false,
  });
}

type SourceText = {
  label: string;
  hint: string;
  /** Says where the sender shows the signing secret, or asks for it. */
  secretHint?: string;
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

export function sampleFor(source: WebhookSource): Sample {
  if (source === "stripe") {
    const object = {
      id: "pi_1",
      object: "payment_intent",
      amount: 4950,
      currency: "eur",
      customer: "cus_1042",
      status: "succeeded",
    };
    return sampleOf({ id: "evt_1", type: "payment_intent.succeeded", livemode: true, data: { object } });
  }
  if (source === "github") {
    const pull = { number: 7, title: "Add a wheel", merged: true, html_url: "https://github.com/a/b/pull/7" };
    const body = {
      action: "closed",
      pull_request: { ...pull, head: { ref: "wheel" } },
      repository: { full_name: "a/b", html_url: "https://github.com/a/b" },
      sender: { login: "ada" },
    };
    return sampleOf(body, { "x-github-event": "pull_request" });
  }
  return sampleOf(order);
}

export function sampleOfRequest({ id, body, headers }: WebhookRequest): Sample {
  return { ...sampleOf(JSON.parse(body ?? "null"), headers), request: id };
}

function sampleOf(body: unknown, headers: Record<string, string> = {}): Sample {
  return { body: JSON.stringify(body, null, 2), headers };
}
