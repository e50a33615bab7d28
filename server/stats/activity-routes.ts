import type { FailureLog } from "../http/failures.ts";
import { progressNote, progressType } from "../http/progress.ts";
import type { Routes } from "../http/routes.ts";
import {
  Lifecycle,
  LifecycleQuery,
  LifecycleUsersQuery,
  Stickiness,
  StickinessQuery,
  StickinessUsersQuery,
} from "../schemas/activity.ts";
import { CountedUserList } from "../schemas/counted-users.ts";
import type { Store } from "../storage/store.ts";
import { activityQueryOf, lifecycleOf, lifecycleUsersOf, stickinessOf, stickyUsersOf } from "./activity.ts";
import { computing } from "./computing.ts";
import { listCountedUsers, listNote } from "./counted-users.ts";

export function addActivityRoutes(
  routes: Routes,
  { store, failures }: { store: Store; failures: FailureLog },
): void {
  const { events } = store;
  const compute = computing(failures);

  routes.add(
    {
      method: "get",
      path: "/api/stickiness",
      operationId: "getStickiness",
      by: "events:read",
      tag: "Stats",
      summary: "Count on how many days users are active",
      description: `A user is active in a period with an event that matches the filters. ${progressNote}`,
      query: StickinessQuery,
      takesTags: true,
      response: Stickiness,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const { activity, head } = await activityQueryOf(events, { projectId, query, tags }, "range");
      return compute(request, async (progress) => ({
        ...head,
        ...stickinessOf(await events.activity(activity, progress), head.by),
      }));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/lifecycle",
      operationId: "getLifecycle",
      by: "events:read",
      tag: "Stats",
      summary: "Count new and returning users over time",
      description: `A user is new in the period of their first matching event, and returning in later ones. ${progressNote}`,
      query: LifecycleQuery,
      takesTags: true,
      response: Lifecycle,
      otherResponseTypes: [progressType],
      problems: [422, 503],
    },
    async ({ projectId, query, tags, request }) => {
      const { first } = query;
      const { activity, head } = await activityQueryOf(events, { projectId, query, tags }, first);
      return compute(request, async (progress) => ({
        ...head,
        first,
        ...lifecycleOf(await events.activity(activity, progress)),
      }));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/stickiness/users",
      by: "events:read",
      tag: "Stats",
      summary: "List users by the days on which they are active",
      description: `The same users as \`GET /api/stickiness\` counts; without \`periods\`, \`last\` and \`period\`, all. ${listNote} It is the user's last event or, with \`period\`, the first in it.`,
      query: StickinessUsersQuery,
      takesTags: true,
      response: CountedUserList,
      problems: [422, 503],
    },
    async ({ projectId, query, tags }) => {
      const { activity, head } = await activityQueryOf(events, { projectId, query, tags }, "range");
      const counted = { of: "activity", activity, which: stickyUsersOf(query, activity) } as const;
      const { limit, cursor } = query;
      return {
        ...{ from: head.from, to: head.to },
        ...(await listCountedUsers(store, { projectId, counted, limit, cursor })),
      };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/lifecycle/users",
      by: "events:read",
      tag: "Stats",
      summary: "List the new or returning users of a period",
      description: `The same users as \`GET /api/lifecycle\` counts. ${listNote} It is the user's first event in the period.`,
      query: LifecycleUsersQuery,
      takesTags: true,
      response: CountedUserList,
      problems: [422, 503],
    },
    async ({ projectId, query, tags }) => {
      const { activity, head } = await activityQueryOf(events, { projectId, query, tags }, query.first);
      const counted = { of: "activity", activity, which: lifecycleUsersOf(query, activity) } as const;
      const { limit, cursor } = query;
      return {
        ...{ from: head.from, to: head.to },
        ...(await listCountedUsers(store, { projectId, counted, limit, cursor })),
      };
    },
  );
}
