import { z } from "@hono/zod-openapi";
import { makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { mediaTypes } from "../event/event-format.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { FailureLog } from "../http/failures.ts";
import type { Routes } from "../http/routes.ts";
import { requestSignal } from "../scheduling/deadline.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";
import {
  CohortChange,
  CohortDraft,
  CohortExportQuery,
  CohortList,
  CohortMembers,
  CohortMembersQuery,
  CohortPreview,
  CohortResponse,
  NewCohort,
} from "../schemas/cohort.ts";
import { Done } from "../schemas/done.ts";
import type { Store } from "../storage/store.ts";
import type { UserActivity } from "../users/user-activity.ts";
import { textOfCursor } from "../validation/page-query.ts";
import type { CohortWorker } from "./cohort-worker.ts";
import { changeCohort, createCohort, deleteCohort, findCohort, listCohorts } from "./cohorts.ts";
import { findPeople } from "./find-people.ts";
import { exportMembers, listMembers } from "./list-members.ts";

type Deps = {
  store: Store;
  cohortWorker: CohortWorker;
  userActivity: Pick<UserActivity, "update">;
  failures: FailureLog;
  setRequestTimeout: (request: Request, seconds: number) => void;
};

const tag = "Cohorts";
/** How long a change waits for the members, so that the response has their number. */
const computedMs = 2_000;
/** How long a preview waits for the newest events to be counted for the list of users. */
const updateMs = 250;
/** People whom a preview names. */
const samplePeople = 10;

export function addCohortRoutes(
  routes: Routes,
  { store, cohortWorker, userActivity, failures, setRequestTimeout }: Deps,
): void {
  const { control } = store;
  /** Somebody who types asks often, and each preview reads all people. */
  const previews = new FairQueue<number>({
    capacity: limits.cohortsComputing,
    capacityOfOwner: limits.cohortsComputingOfProject,
    waitingOfOwner: limits.analysesWaiting,
    detail: "Too many cohorts are being computed. Try again later.",
    retryAfterSeconds: 10,
  });

  routes.add(
    {
      method: "get",
      path: "/api/cohorts",
      by: "events:read",
      tag,
      summary: "List cohorts, by name",
      query: ProjectQuery,
      response: CohortList,
    },
    async ({ projectId }) => ({ cohorts: await listCohorts(control, projectId) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/cohorts",
      by: "cohorts:change",
      tag,
      summary: "Create a cohort",
      description:
        "Searches name it as `cohort:NAME`. Its members are computed at once, and about half a minute after something changed.",
      query: ProjectQuery,
      body: NewCohort,
      status: 201,
      response: CohortResponse,
      problems: [409],
    },
    async (call) => {
      const { id } = await makeChange(control, call, (change) => createCohort(change, call.body, Date.now()));
      await cohortWorker.computed(id, computedMs);
      return { cohort: await findCohort(control, call.projectId, id) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/cohorts/preview",
      by: "cohorts:change",
      tag,
      summary: "Count the people whom conditions describe",
      description: "Nothing is saved.",
      query: ProjectQuery,
      body: CohortDraft,
      response: CohortPreview,
      problems: [503],
    },
    async ({ projectId, body, request }) => {
      const signal = requestSignal() ?? request.signal;
      await userActivity.update(updateMs);
      const { people, of } = await previews.run(
        projectId,
        () => findPeople(store, projectId, body, { nowMs: Date.now(), signal }),
        { signal },
      );
      return { people: people.size, of, sample: [...people.keys()].slice(0, samplePeople) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/cohorts/{id}",
      by: "events:read",
      tag,
      summary: "Get a cohort",
      query: ProjectQuery,
      response: CohortResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({ cohort: await findCohort(control, projectId, parameter("id")) }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/cohorts/{id}",
      by: "cohorts:change",
      tag,
      summary: "Change a cohort",
      description:
        "A cohort that rules, boards, views or silences name keeps its name. Other conditions take effect when the members were computed.",
      query: ProjectQuery,
      versioned: "cohort",
      body: CohortChange,
      response: CohortResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      const { id } = await makeChange(control, call, (change) =>
        changeCohort(change, parameter("id"), body, ifMatch, Date.now()),
      );
      if (body.match || body.conditions) await cohortWorker.computed(id, computedMs);
      return { cohort: await findCohort(control, call.projectId, id) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/cohorts/{id}",
      by: "cohorts:change",
      tag,
      summary: "Delete a cohort",
      description: "Fails while rules, boards, views or silences name it.",
      query: ProjectQuery,
      response: Done,
      problems: [404, 409],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteCohort(change, call.parameter("id"), Date.now()));
      cohortWorker.wake();
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/cohorts/{id}/members",
      by: "events:read",
      tag,
      summary: "List the people of a cohort",
      query: CohortMembersQuery,
      response: CohortMembers,
      problems: [404],
    },
    async ({ projectId, parameter, query: { limit, cursor = "" } }) => {
      const { id, people } = await findCohort(control, projectId, parameter("id"));
      const after = textOfCursor(cursor);
      return { people: people ?? 0, ...(await listMembers(store, { id, projectId }, { limit, after })) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/cohorts/{id}/export",
      by: "events:read",
      tag,
      summary: "Export the people of a cohort",
      description: "All of them, by ID, with their properties, as CSV or as lines of JSON.",
      query: CohortExportQuery,
      response: z.string(),
      responseType: mediaTypes.csv,
      otherResponseTypes: [mediaTypes.ndjson],
      problems: [404],
    },
    async ({ projectId, parameter, query: { format }, request }) => {
      const { id, name } = await findCohort(control, projectId, parameter("id"));
      const lines = exportMembers(store, { id, projectId }, format);
      const encoder = new TextEncoder();
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            try {
              const next = await lines.next();
              setRequestTimeout(request, limits.requestSeconds);
              if (next.done) controller.close();
              else controller.enqueue(encoder.encode(next.value));
            } catch (error) {
              failures.requestFailed(error);
              // The connection is cut off, so that nobody takes a part for the whole.
              controller.error();
            }
          },
          async cancel() {
            await lines.return(undefined);
          },
        },
        { highWaterMark: 0 },
      );
      const file = `${name.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}.${format}`;
      return new Response(request.method === "HEAD" ? null : body, {
        headers: {
          "content-type": `${mediaTypes[format]}; charset=utf-8`,
          "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(file)}`,
        },
      });
    },
  );
}
