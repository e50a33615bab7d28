import type { Routes } from "../http/routes.ts";
import type { Store } from "../storage/store.ts";
import { Completion, CompletionQuery } from "../wire/completion.ts";
import { createComplete } from "./complete.ts";

export function addSearchRoutes(routes: Routes, { store }: { store: Store }): void {
  const complete = createComplete(store.control, store.events);

  routes.add(
    {
      method: "get",
      path: "/api/search/complete",
      operationId: "completeSearch",
      by: "events:read",
      tag: "Events",
      summary: "Suggest completions for a search",
      query: CompletionQuery,
      response: Completion,
    },
    async ({ projectId, query: { q = "", at = q.length } }) => complete(projectId, q, Math.min(at, q.length)),
  );
}
