import type { FailureLog } from "../http/failures.ts";
import { progressNote, progressType } from "../http/progress.ts";
import type { Routes } from "../http/routes.ts";
import { Paths, PathsQuery } from "../schemas/paths.ts";
import type { Store } from "../storage/store.ts";
import { computing, timesOf } from "./computing.ts";
import { pathsOf, pathsQueryOf } from "./paths.ts";

type Deps = { store: Pick<Store, "events">; failures: FailureLog };

export function addPathRoutes(routes: Routes, { store: { events }, failures }: Deps): void {
  const compute = computing(failures);

  routes.add(
    {
      method: "get",
      path: "/api/paths",
      operationId: "getPaths",
      by: "events:read",
      tag: "Stats",
      summary: "Count what users do after or before an event",
      description: `Follows each user from their first event that matches \`anchor\`, event by event, and counts users by the names of these events. Events of the same millisecond count in the order of their names, away from the anchor. Events without a user are left out. ${progressNote}`,
      query: PathsQuery,
      takesTags: true,
      response: Paths,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const asked = pathsQueryOf({ projectId, query, tags });
      return compute(request, async (progress) => ({
        ...timesOf(asked.range),
        direction: asked.direction,
        windowSeconds: query.window,
        ...pathsOf(await events.paths(asked, progress)),
      }));
    },
  );
}
