import { queryOptions } from "@tanstack/react-query";
import type { Completion } from "../../server/wire/completion.ts";
import { api } from "../api.ts";

export type Suggestion = Completion["suggestions"][number];

/** Suggestions for the text at the cursor of a search. */
export function completionQuery(project: string, q: string, at: number) {
  return queryOptions({
    queryKey: ["completion", project, q, at],
    queryFn: ({ signal }) =>
      api<Completion>("/api/search/complete", { query: { project, q, at: String(at) }, signal }),
    staleTime: 30_000,
    retry: false,
  });
}
