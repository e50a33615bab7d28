import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Annotation, MarkList } from "../../server/schemas/annotation.ts";
import { api } from "../api.ts";
import { zone } from "../components/zone.ts";
import { refresh } from "../queries.ts";

type AnnotationPage = { ok: true; annotations: Annotation[]; nextCursor: string | null };

/** How often the marks of a chart that grows are read again. */
const refreshMs = 30_000;

export function annotationsQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: ["annotations", project],
    queryFn: ({ pageParam }) =>
      api<AnnotationPage>("/api/annotations", { query: { project, cursor: pageParam ?? undefined } }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export type MarksOf = {
  project: string;
  /** The board whose notes are included. */
  board?: string | undefined;
  /** What the marks are of: charts of the same time share them. */
  time: unknown;
  /** Its bounds when they are read. */
  bounds: () => { from: string; to: string };
  /** The time ends now, so new marks can be added. */
  isLive: boolean;
};

/** The marks of a time. */
export function marksQuery({ project, board, time, bounds, isLive }: MarksOf) {
  return queryOptions({
    queryKey: ["marks", project, board ?? null, zone(), time],
    queryFn: ({ signal }) =>
      api<MarkList>("/api/annotations/marks", {
        query: { project, board, timeZone: zone(), ...bounds() },
        signal,
      }),
    refetchInterval: isLive ? refreshMs : false,
    placeholderData: (previous) => previous,
    retry: false,
  });
}

/** Reads again what shows annotations. */
export function refreshAnnotations(project: string): Promise<void> {
  return refresh(annotationsQuery(project).queryKey, ["marks", project]);
}
