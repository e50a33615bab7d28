import { EventCountQuery, filterOf } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import type { Store } from "../storage/store.ts";
import { Completion, CompletionQuery } from "../wire/completion.ts";
import { SearchAlternatives } from "../wire/search-alternatives.ts";
import { createAlternatives } from "./alternatives.ts";
import { createComplete } from "./complete.ts";

export function addSearchRoutes(routes: Routes, { store }: { store: Store }): void {
  const complete = createComplete(store);
  const alternatives = createAlternatives(store);

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

  routes.add(
    {
      method: "get",
      path: "/api/search/alternatives",
      operationId: "listSearchAlternatives",
      by: "events:read",
      tag: "Events",
      summary: "Suggest what to search for instead",
      description:
        "For a search that finds nothing: what was probably meant, such as the channel or tag with nearly this name, and what finds something if it is left out. Each is tried first, for up to three seconds in all.",
      query: EventCountQuery,
      takesTags: true,
      response: SearchAlternatives,
    },
    async ({ projectId, query, tags }) => alternatives(projectId, filterOf(query, tags)),
  );
}
