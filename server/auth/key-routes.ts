import { recordAudit } from "../audit/audit-log.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import type { Store } from "../storage/store.ts";
import { KeyList, KeyResponse, NewKey, NewKeyResponse } from "../wire/key.ts";
import type { ApiKeyCache } from "./api-key-cache.ts";
import { createKey, listKeys, revokeKey } from "./keys.ts";

export function addKeyRoutes(
  routes: Routes,
  {
    store,
    keys,
    streams,
  }: { store: Store; keys: ApiKeyCache; streams: { disconnectKey: (keyId: string) => void } },
): void {
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
    async ({ projectId }) => ({ ok: true, keys: await listKeys(store.control, projectId) }),
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
    ({ projectId, account, actor, body }) =>
      store.control.transaction().execute(async (transaction) => {
        const created = await createKey(transaction, projectId, body, account.id);
        const { id, name, kind, scopes } = created.key;
        await recordAudit(transaction, actor, {
          action: "key.created",
          projectId,
          target: name,
          detail: { id, kind, scopes },
        });
        return { ok: true as const, ...created };
      }),
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
      response: KeyResponse,
      problems: [404],
    },
    async ({ projectId, actor, parameter }) => {
      const key = await store.control.transaction().execute(async (transaction) => {
        const revoked = await revokeKey(transaction, projectId, parameter("id"));
        const { id, name } = revoked;
        await recordAudit(transaction, actor, {
          action: "key.revoked",
          projectId,
          target: name,
          detail: { id },
        });
        return revoked;
      });
      keys.invalidateKey(key.id);
      streams.disconnectKey(key.id);
      return { ok: true, key };
    },
  );
}
