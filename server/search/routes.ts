import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { EventCountQuery, filterOf } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Completion, CompletionQuery } from "../schemas/completion.ts";
import { KnownTextList, KnownTextsQuery } from "../schemas/known-texts.ts";
import { SearchAlternatives } from "../schemas/search-alternatives.ts";
import type { KnownTexts } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";
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
      path: "/api/search/texts",
      operationId: "listKnownTexts",
      by: "events:read",
      tag: "Events",
      summary: "List names, tags or values of events",
      description: "Those that events had at any time, in alphabetical order.",
      query: KnownTextsQuery,
      response: KnownTextList,
    },
    async ({ projectId, query: { of, key, prefix = "" } }) => {
      if ((of === "value") !== (key !== undefined))
        throw problem("query-invalid", {
          detail: '"key" is required with "of=value", and not allowed otherwise.',
        });
      const kind: KnownTexts =
        key !== undefined ? { kind: "value", key } : { kind: of === "tag" ? "key" : "name" };
      const found = await store.events.startingWith(projectId, kind, prefix, limits.knownTexts + 1);
      return {
        texts: found.slice(0, limits.knownTexts),
        isComplete: found.length <= limits.knownTexts,
      };
    },
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
