import { makeChange } from "../audit/changes.ts";
import { isoOf } from "../core/iso.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import {
  AnnotationChange,
  AnnotationList,
  AnnotationListQuery,
  AnnotationResponse,
  MarkList,
  MarksQuery,
  NewAnnotation,
} from "../schemas/annotation.ts";
import { Done } from "../schemas/done.ts";
import { timeZoneOf } from "../stats/buckets.ts";
import { filterAndRange } from "../stats/filters.ts";
import type { Store } from "../storage/store.ts";
import {
  changeAnnotation,
  createAnnotation,
  deleteAnnotation,
  findAnnotation,
  listAnnotations,
} from "./annotations.ts";
import { listMarks } from "./marks.ts";

const tag = "Annotations";
const defaultRangeMs = 30 * 24 * 60 * 60 * 1_000;

export function addAnnotationRoutes(
  routes: Routes,
  { store }: { store: Pick<Store, "control" | "events"> },
): void {
  const { control } = store;

  routes.add(
    {
      method: "get",
      path: "/api/annotations",
      by: "annotations:read",
      tag,
      summary: "List annotations, those created last first",
      query: AnnotationListQuery,
      response: AnnotationList,
    },
    async ({ projectId, query }) => ({ ...(await listAnnotations(control, projectId, query)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/annotations",
      by: "annotations:change",
      tag,
      summary: "Create an annotation",
      description:
        "With the type `events`, charts mark the events of a search. A `note` marks a moment or a day.",
      query: ProjectQuery,
      body: NewAnnotation,
      status: 201,
      response: AnnotationResponse,
      problems: [409],
    },
    async (call) => ({
      annotation: await makeChange(control, call, (change) => createAnnotation(change, call.body)),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/annotations/marks",
      operationId: "listMarks",
      by: "annotations:read",
      tag,
      summary: "List the marks of a chart",
      description: "The events and notes of all annotations that are turned on, in a range.",
      query: MarksQuery,
      response: MarkList,
    },
    async ({ projectId, query, request }) => {
      const { timeZone, board, ...times } = query;
      const { fromMs, toMs } = filterAndRange(times, [], (toMs) => toMs - defaultRangeMs);
      const asked = {
        projectId,
        fromMs,
        toMs,
        board,
        timeZone: timeZoneOf(timeZone),
        signal: request.signal,
      };
      return { from: isoOf(fromMs), to: isoOf(toMs), ...(await listMarks(store, asked)) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/annotations/{id}",
      by: "annotations:read",
      tag,
      summary: "Get an annotation",
      query: ProjectQuery,
      response: AnnotationResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      annotation: await findAnnotation(control, projectId, parameter("id")),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/annotations/{id}",
      by: "annotations:change",
      tag,
      summary: "Change an annotation",
      query: ProjectQuery,
      versioned: "annotation",
      body: AnnotationChange,
      response: AnnotationResponse,
      problems: [404],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      return {
        annotation: await makeChange(control, call, (change) =>
          changeAnnotation(change, parameter("id"), body, ifMatch),
        ),
      };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/annotations/{id}",
      by: "annotations:change",
      tag,
      summary: "Delete an annotation",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteAnnotation(change, call.parameter("id")));
    },
  );
}
