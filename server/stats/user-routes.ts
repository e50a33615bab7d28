import { problem } from "../core/problems.ts";
import type { Routes } from "../http/routes.ts";
import {
  CountedUserList,
  FunnelUsersQuery,
  RetentionUsersQuery,
  StatsUsersQuery,
} from "../schemas/counted-users.ts";
import { PathsUsersQuery } from "../schemas/paths.ts";
import type { CountedUsers } from "../storage/analysis/queries.ts";
import type { MsRange } from "../storage/block.ts";
import type { Store } from "../storage/store.ts";
import { timesOf } from "./computing.ts";
import { listCountedUsers, listNote } from "./counted-users.ts";
import { filterAndRange } from "./filters.ts";
import { pathUsersOf } from "./paths.ts";
import { funnelQueryOf, retentionQueryOf, retentionQuestionOf } from "./questions.ts";

const dayMs = 24 * 60 * 60 * 1_000;

/** The users behind each number. */
export function addCountedUserRoutes(routes: Routes, { store }: { store: Store }): void {
  const { events } = store;

  routes.add(
    {
      method: "get",
      path: "/api/paths/users",
      by: "events:read",
      tag: "Stats",
      summary: "List the users of a path's step",
      description: `The same users as \`GET /api/paths\` counts. ${listNote} It is the event of \`target\`, or of \`source\` with \`target=end\`.`,
      query: PathsUsersQuery,
      takesTags: true,
      response: CountedUserList,
      problems: [422, 503],
    },
    async ({ projectId, query, tags }) => list(projectId, query, pathUsersOf({ projectId, query, tags })),
  );

  routes.add(
    {
      method: "get",
      path: "/api/stats/users",
      by: "events:read",
      tag: "Stats",
      summary: "List the users of matching events",
      description: `${listNote} It is the user's last event that matches.`,
      query: StatsUsersQuery,
      takesTags: true,
      response: CountedUserList,
      problems: [422, 503],
    },
    async ({ projectId, query, tags }) => {
      const { filter, fromMs, toMs } = filterAndRange(query, tags, (toMs) => toMs - 30 * dayMs);
      const { property: key, value, per } = query;
      if ((key === undefined) !== (value === undefined))
        throw problem("query-invalid", { detail: '"property" and "value" must be sent together.' });
      if (key !== undefined && per !== undefined)
        throw problem("query-invalid", { detail: '"property" is of users. Leave out "per" or "property".' });
      const property = key === undefined ? undefined : { key, value: value! };
      return list(projectId, query, { of: "events", per, filter, range: { fromMs, toMs }, property });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/funnel/users",
      by: "events:read",
      tag: "Stats",
      summary: "List the users who took a step of a funnel",
      description: `The same users as \`GET /api/funnel\` counts. ${listNote} It is the event that took the step.`,
      query: FunnelUsersQuery,
      takesTags: true,
      response: CountedUserList,
      problems: [422, 503],
    },
    async ({ projectId, query, tags }) => {
      const { reached, dropped, split, value, tookFrom, tookTo } = query;
      if (reached > query.step.length)
        throw problem("query-invalid", {
          detail: `"reached" must be at most ${query.step.length}, the last step.`,
        });
      if ((split === undefined) !== (value === undefined))
        throw problem("query-invalid", { detail: '"split" and "value" must be sent together.' });
      const hasTook = tookFrom !== undefined || tookTo !== undefined;
      if (hasTook && reached === 1)
        throw problem("query-invalid", {
          detail: '"tookFrom" and "tookTo" are of a step after the first. Send another "reached".',
        });
      const took = {
        fromMs: (tookFrom ?? 0) * 1_000,
        toMs: tookTo === undefined ? Number.POSITIVE_INFINITY : tookTo * 1_000,
      };
      const funnel = funnelQueryOf({ projectId, query, tags });
      return list(projectId, query, {
        of: "funnel",
        funnel,
        step: reached,
        isLast: dropped === "true",
        value,
        ...(hasTook && { took }),
      });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/retention/users",
      by: "events:read",
      tag: "Stats",
      summary: "List the users of a cohort",
      description: `The same users as \`GET /api/retention\` counts. ${listNote} It is the user's start or, with \`returned\`, the first return in that period.`,
      query: RetentionUsersQuery,
      takesTags: true,
      response: CountedUserList,
      problems: [422, 503],
    },
    async ({ projectId, query, tags }) => {
      const { cohort, returned: period = null, first } = query;
      const question = retentionQuestionOf({ query, tags });
      const last = question.starts.length - 1;
      if (cohort > last)
        throw problem("query-invalid", { detail: `"cohort" must be at most ${last}, the last period.` });
      if (period !== null && cohort + period > last)
        throw problem("query-invalid", {
          detail: `"returned" must be at most ${last - cohort}, the last period.`,
        });
      const retention = await retentionQueryOf(events, { projectId, first, ...question });
      return list(projectId, query, { of: "cohort", retention, cohort, period });
    },
  );

  async function list(
    projectId: number,
    { limit, cursor }: { limit: number; cursor?: string | undefined },
    counted: CountedUsers,
  ) {
    const page = await listCountedUsers(store, { projectId, counted, limit, cursor });
    return { ...timesOf(rangeOf(counted)), ...page };
  }
}

function rangeOf(counted: CountedUsers): MsRange {
  if (counted.of === "events") return counted.range;
  if (counted.of === "funnel") return counted.funnel.range;
  if (counted.of === "paths") return counted.paths.range;
  const { bounds } = counted.of === "activity" ? counted.activity : counted.retention;
  return { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
}
