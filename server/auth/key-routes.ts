import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  IdentitySecretResponse,
  type Key,
  KeyChange,
  KeyList,
  KeyResponse,
  KeyRotation,
  NewKey,
  NewKeyResponse,
  RotatedKeyResponse,
} from "../schemas/key.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import type { ApiKeyCache } from "./api-key-cache.ts";
import { changeKey, createKey, listKeys, replaceIdentitySecret, revokeKey, rotateKey } from "./keys.ts";

export function addKeyRoutes(
  routes: Routes,
  {
    store,
    keys,
    streams,
    secrets,
  }: {
    store: Store;
    keys: ApiKeyCache;
    streams: { disconnectKey: (keyId: string) => void };
    secrets: SecretBox;
  },
): void {
  /** Makes a change effective at once on this node, and within a second on others. */
  function apply({ id, scopes, revokedAt, expiresAt }: Key): void {
    keys.invalidateKey(id);
    const isValid = revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.now());
    if (!isValid || !scopes.includes("read")) streams.disconnectKey(id);
  }

  routes.add(
    {
      method: "get",
      path: "/api/keys",
      by: "keys:manage",
      tag: "API keys",
      summary: "List API keys",
      query: ProjectQuery,
      response: KeyList,
    },
    async ({ projectId }) => ({ keys: await listKeys(store.control, projectId) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/keys",
      by: "keys:manage",
      tag: "API keys",
      summary: "Create an API key",
      description: "Only this response contains the key itself.",
      query: ProjectQuery,
      body: NewKey,
      status: 201,
      response: NewKeyResponse,
    },
    async (call) => ({
      ...(await makeChange(store.control, call, (change) => createKey(change, call.body))),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/keys/{id}",
      by: "keys:manage",
      tag: "API keys",
      summary: "Change an API key",
      description: "Takes effect at once. A revoked key can't be changed.",
      query: ProjectQuery,
      versioned: "key",
      body: KeyChange,
      response: KeyResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { parameter, body, ifMatch } = call;
      const key = await makeChange(store.control, call, (change) =>
        changeKey(change, parameter("id"), body, ifMatch),
      );
      apply(key);
      return { key };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/keys/{id}/rotate",
      by: "keys:manage",
      tag: "API keys",
      summary: "Rotate an API key",
      description:
        "Creates a key with the same settings and, if the old one expires, the same lifetime. The old key stays valid for `overlapHours`. Only this response contains the new key itself.",
      query: ProjectQuery,
      body: KeyRotation,
      response: RotatedKeyResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { parameter, body } = call;
      const rotated = await makeChange(store.control, call, (change) =>
        rotateKey(change, parameter("id"), body),
      );
      apply(rotated.replaced);
      return { ...rotated };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/keys/{id}/identity-secret",
      operationId: "replaceKeyIdentitySecret",
      by: "keys:manage",
      tag: "API keys",
      summary: "Create a secret for signatures",
      description:
        "Gives a publishable key a new secret to sign user IDs with. Signatures with an earlier one are wrong at once. Only this response contains the secret.",
      query: ProjectQuery,
      response: IdentitySecretResponse,
      problems: [404, 409, 422],
    },
    async (call) => {
      const created = await makeChange(store.control, call, (change) =>
        replaceIdentitySecret(change, call.parameter("id"), secrets),
      );
      apply(created.key);
      return created;
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/keys/{id}",
      by: "keys:manage",
      tag: "API keys",
      summary: "Revoke an API key",
      description:
        "Takes effect at once: its requests are rejected and its live streams end. The key stays listed.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      apply(await makeChange(store.control, call, (change) => revokeKey(change, call.parameter("id"))));
    },
  );
}
