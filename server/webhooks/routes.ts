import { z } from "@hono/zod-openapi";
import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import type { Recorder } from "../ingest/record.ts";
import { Done } from "../schemas/done.ts";
import {
  NewWebhook,
  ReceivedResponse,
  WebhookAddressResponse,
  WebhookChange,
  WebhookList,
  WebhookPreview,
  WebhookPreviewResponse,
  WebhookRequestList,
  WebhookResponse,
  WebhookUrlResponse,
} from "../schemas/webhook.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { findRequest, inputOf, listRequests } from "./kept-requests.ts";
import { enteredInput, preview } from "./preview.ts";
import type { WebhookReceiver } from "./receive.ts";
import { resendRequest } from "./resend.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findToken,
  findWebhook,
  listWebhooks,
  rotateWebhook,
  webhookOf,
} from "./webhooks.ts";

type Deps = {
  store: Store;
  secrets: SecretBox;
  recorder: Recorder;
  webhookReceiver: WebhookReceiver;
  baseUrl: string;
};

const tag = "Webhooks";

export function addWebhookRoutes(
  routes: Routes,
  { store: { control }, secrets, recorder, webhookReceiver, baseUrl }: Deps,
): void {
  const urlOf = (token: string) => `${baseUrl}/hooks/${token}`;

  routes.add(
    {
      method: "post",
      path: "/hooks/{token}",
      operationId: "receiveWebhook",
      by: "anyone",
      tag,
      summary: "Send to a webhook",
      description:
        "JSON, or application/x-www-form-urlencoded. Whoever has the address can send; most sources also verify a signature. A delivery that is sent again is recorded once.",
      optionalBody: z.unknown(),
      status: 201,
      otherStatuses: [200],
      response: ReceivedResponse,
      problems: [403, 404, 429, 503, 507],
    },
    async ({ request, parameter }) => {
      const received = await webhookReceiver.receive(parameter("token"), request);
      return Response.json(
        { ok: true, ...received },
        { status: received.outcome === "recorded" ? 201 : 200 },
      );
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/webhooks",
      by: "webhooks:read",
      tag,
      summary: "List webhooks, oldest first",
      description: "Without their addresses and secrets.",
      query: ProjectQuery,
      response: WebhookList,
    },
    async ({ projectId }) => ({ webhooks: await listWebhooks(control, projectId) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/webhooks",
      by: "webhooks:manage",
      tag,
      summary: "Create a webhook",
      description: "The response has its address.",
      query: ProjectQuery,
      body: NewWebhook,
      status: 201,
      response: WebhookAddressResponse,
      problems: [409],
    },
    async (call) => {
      const { webhook, token } = await makeChange(control, call, (change) =>
        createWebhook(change, secrets, call.body),
      );
      return { webhook, url: urlOf(token) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/webhooks/preview",
      by: "webhooks:manage",
      tag,
      summary: "Preview the event that a mapping makes",
      description: "Of a body, or of a kept request. Records nothing.",
      query: ProjectQuery,
      body: WebhookPreview,
      response: WebhookPreviewResponse,
      problems: [404],
    },
    async ({ projectId, body }) => {
      const kept = body.request === undefined ? null : await findRequest(control, projectId, body.request);
      return {
        ...(await preview(body, () => (kept ? inputOf(kept) : enteredInput(body, projectId)), Date.now())),
      };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/webhooks/{id}",
      by: "webhooks:read",
      tag,
      summary: "Get a webhook",
      query: ProjectQuery,
      response: WebhookResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      webhook: webhookOf(await findWebhook(control, projectId, parameter("id"))),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/webhooks/{id}",
      by: "webhooks:manage",
      tag,
      summary: "Change a webhook",
      query: ProjectQuery,
      versioned: "webhook",
      body: WebhookChange,
      response: WebhookResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      const webhook = await makeChange(control, call, (change) =>
        changeWebhook(change, secrets, parameter("id"), body, ifMatch),
      );
      return { webhook };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/webhooks/{id}",
      by: "webhooks:manage",
      tag,
      summary: "Delete a webhook and the requests that it kept",
      description: "Its events stay.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteWebhook(change, call.parameter("id")));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/webhooks/{id}/url",
      operationId: "getWebhookUrl",
      by: "webhooks:manage",
      tag,
      summary: "Get a webhook's address",
      description: "409 if it was made before Tidings kept addresses: replace it to get a new one.",
      query: ProjectQuery,
      response: WebhookUrlResponse,
      problems: [404, 409],
    },
    // Like every response with a secret, it isn't compressed.
    async ({ projectId, parameter }) =>
      Response.json({ ok: true, url: urlOf(await findToken(control, secrets, projectId, parameter("id"))) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/webhooks/{id}/rotate",
      by: "webhooks:manage",
      tag,
      summary: "Replace a webhook's address",
      description: "The old address ends at once.",
      query: ProjectQuery,
      versioned: "webhook",
      response: WebhookAddressResponse,
      problems: [404],
    },
    async (call) => {
      const { ifMatch, parameter } = call;
      const { webhook, token } = await makeChange(control, call, (change) =>
        rotateWebhook(change, secrets, parameter("id"), ifMatch),
      );
      return { webhook, url: urlOf(token) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/webhooks/{id}/requests",
      by: "webhooks:manage",
      tag,
      summary: "List the last requests of a webhook, newest first",
      query: ProjectQuery,
      response: WebhookRequestList,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const { id } = await findWebhook(control, projectId, parameter("id"));
      return { requests: await listRequests(control, id, Date.now()) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/webhooks/{id}/requests/{request}/resend",
      by: "webhooks:manage",
      tag,
      summary: "Map a kept request again",
      description: "With the webhook's present mapping. A request that was recorded is not recorded again.",
      query: ProjectQuery,
      response: ReceivedResponse,
      problems: [404, 422, 503, 507],
    },
    async ({ parameter, ...source }) => {
      const webhook = await findWebhook(control, source.projectId, parameter("id"));
      const request = await findRequest(control, source.projectId, parameter("request"), webhook.id);
      return resendRequest({ control, recorder }, webhook, request, source);
    },
  );
}
