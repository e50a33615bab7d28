import { infiniteQueryOptions, type QueryKey } from "@tanstack/react-query";
import type { Annotation } from "../../server/schemas/annotation.ts";
import { api } from "../api.ts";
import { refresh } from "../queries.ts";

type AnnotationPage = { ok: true; annotations: Annotation[]; nextCursor: string | null };

export function annotationsQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: ["annotations", project],
    queryFn: ({ pageParam }) =>
      api<AnnotationPage>("/api/annotations", { query: { project, cursor: pageParam ?? undefined } }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** The queries whose results contain annotations. */
export function keysOfAnnotations(project: string): QueryKey[] {
  return [annotationsQuery(project).queryKey, ["marks", project]];
}

/** Reads again what shows annotations. */
export function refreshAnnotations(project: string): Promise<void> {
  return refresh(...keysOfAnnotations(project));
}
