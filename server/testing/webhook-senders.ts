import { createHmac } from "node:crypto";
import type { NewWebhook, Webhook, WebhookPreviewResponse, WebhookRequest } from "../schemas/webhook.ts";
import type { TestApp } from "./test-app.ts";

/** Webhooks of a test server, whose senders the test plays. */
export async function webhookSenders(app: TestApp) {
  const session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  let count = 0;

  async function call<Result>(method: string, path: string, body?: unknown): Promise<Result> {
    const init = { method, headers: session, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return (await (await app.request(`/api/webhooks${path}`, init)).json()) as Result;
  }

  /** Creates a webhook in a channel of its own. */
  async function create(source: NewWebhook["source"], change: Partial<NewWebhook> = {}) {
    const body = { name: `Sender ${++count}`, source, channel: `sender-${count}`, ...change };
    const { webhook, url } = await call<{ webhook: Webhook; url: string }>("POST", "", body);
    return {
      webhook,
      /** Sends a request and returns the status, and the outcome or the problem's name. */
      async send(sent: string | Uint8Array<ArrayBuffer> | object, headers: Record<string, string> = {}) {
        const bytes = typeof sent === "string" || sent instanceof Uint8Array ? sent : JSON.stringify(sent);
        const response = await fetch(url, { method: "POST", headers, body: bytes });
        const { outcome, type } = (await response.json()) as { outcome?: string; type?: string };
        return [response.status, outcome ?? type?.split("/").at(-1)];
      },
      list: () => app.list(`?channel=${webhook.channel}&order=asc`),
      requests: async () =>
        (await call<{ requests: WebhookRequest[] }>("GET", `/${webhook.id}/requests`)).requests,
    };
  }

  /** What a request of a source would become, without a mapping. */
  const preview = (source: NewWebhook["source"], body: string) =>
    call<WebhookPreviewResponse>("POST", "/preview", { source, channel: "c", mapping: null, body });

  return { call, create, preview };
}

/** An HMAC in hexadecimal. */
export function hmacOf(algorithm: string, secret: string, text: string): string {
  return createHmac(algorithm, secret).update(text).digest("hex");
}
