import { queryOptions } from "@tanstack/react-query";
import type {
  Webhook,
  WebhookPreview,
  WebhookPreviewResponse,
  WebhookRequest,
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
