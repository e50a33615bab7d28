import type { z } from "@hono/zod-openapi";
import { makeChange } from "../audit/changes.ts";
import { joinOrStartJob, starterOf } from "../background/jobs.ts";
import type { BackgroundWorker } from "../background/worker.ts";
import { checkVersion, type IfMatch } from "../core/edit-version.ts";
import { problem } from "../core/problems.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { JobResponse } from "../schemas/job.ts";
import {
  ChangedUserResponse,
  type User,
  UserList,
  UserListQuery,
  UserProperties,
  UserResponse,
} from "../schemas/user.ts";
import type { Store } from "../storage/store.ts";
import { findUsers } from "./find-users.ts";
import { listByActivity, listById, listWithProperties } from "./list-users.ts";
import type { UserActivity } from "./user-activity.ts";
import { checkUserId, findUser, patchProperties, putProperties } from "./users.ts";

type UserCall = {
  projectId: number;
  mayRead: boolean;
  body: z.infer<typeof UserProperties>;
  ifMatch: IfMatch;
};

/** How long a list waits for the newest events to be counted. */
const updateMs = 250;

export function addUserRoutes(
  routes: Routes,
  { store, worker, userActivity }: { store: Store; worker: BackgroundWorker; userActivity: UserActivity },
): void {
  routes.add(
    {
      method: "get",
      path: "/api/users",
      by: "events:read",
      tag: "Users",
      summary: "List users",
      description:
        "Users with events, or with properties. With `q`, or a `sort` other than `id`, users who just appeared can be missing for some seconds.",
      query: UserListQuery,
      response: UserList,
    },
    async ({ projectId, request: { signal }, query: { q = "", prefix = "", sort, has, limit, cursor } }) => {
      const isSearch = q.trim() !== "";
      const options = { projectId, prefix, sort, limit, cursor };
      if (has === "properties") {
        if (sort !== "id" || isSearch)
          throw problem("query-invalid", { detail: '"has=properties" needs "sort=id", and no "q".' });
        return listWithProperties(store, options);
      }
      if (isSearch || sort !== "id") await userActivity.update(updateMs);
      if (isSearch) return await findUsers(store, { ...options, q, signal });
      const list = sort === "id" ? listById : listByActivity;
      return list(store, options);
    },
  );

  async function readUser(projectId: number, userId: string): Promise<User> {
    const user = await findUser(store, projectId, userId);
    if (!user) throw problem("user-unknown", { detail: "This user has no events and no properties." });
    return user;
  }

  /** Changes a user's properties. Whoever may not read users gets back what they sent. */
  async function changeUser(
    { projectId, mayRead, body, ifMatch }: UserCall,
    userId: string,
    write: typeof putProperties,
  ): Promise<z.infer<typeof ChangedUserResponse>["user"]> {
    // Somebody may change them in between.
    do if (ifMatch) checkVersion(ifMatch, await readUser(projectId, userId));
    while (!(await write(store, projectId, userId, body, ifMatch)));
    return mayRead ? readUser(projectId, userId) : { userId, properties: body };
  }

  routes.add(
    {
      method: "get",
      path: "/api/users/{userId}",
      by: "events:read",
      tag: "Users",
      summary: "Get a user",
      query: ProjectQuery,
      response: UserResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({ user: await readUser(projectId, parameter("userId")) }),
  );

  routes.add(
    {
      method: "put",
      path: "/api/users/{userId}",
      by: "users:change",
      tag: "Users",
      summary: "Set a user's properties",
      description:
        "Replaces all properties; `PATCH` merges. The user needs no events. Callers that may not read users get the properties that they sent, and can't remove all with `{}`.",
      query: ProjectQuery,
      versioned: null,
      body: UserProperties,
      response: ChangedUserResponse,
      problems: [404],
    },
    async ({ parameter, ...call }) => {
      if (!call.mayRead && Object.keys(call.body).length === 0) throw noProperties();
      return { user: await changeUser(call, parameter("userId"), putProperties) };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/users/{userId}",
      by: "users:change",
      tag: "Users",
      summary: "Change a user's properties",
      description:
        "Merges the properties that are sent into those that the user has. `null` removes one (RFC 7396). The user needs no events. Callers that may not read users get what they sent.",
      query: ProjectQuery,
      versioned: null,
      body: UserProperties,
      response: ChangedUserResponse,
      problems: [404],
    },
    async ({ parameter, ...call }) => ({
      user: await changeUser(call, parameter("userId"), patchProperties),
    }),
  );

  routes.add(
    {
      method: "delete",
      path: "/api/users/{userId}",
      by: "users:erase",
      tag: "Users",
      summary: "Erase a user",
      description:
        "Starts a job that removes the user's events and everything else that names them, from every file of the data directory. Unknown users can be erased too.",
      query: ProjectQuery,
      status: 202,
      response: JobResponse,
      problems: [409],
    },
    async (call) => {
      const userId = call.parameter("userId");
      checkUserId(userId);
      const erasure = { kind: "erase-user", subject: userId, ...starterOf(call) } as const;
      const job = await makeChange(store.control, call, async ({ transaction, projectId, record }) => {
        const started = await joinOrStartJob(transaction, { projectId, ...erasure });
        // The user's id would outlive the erasure here.
        await record({ action: "user.erased", detail: { job: started.id } });
        return started;
      });
      worker.wake();
      return { job };
    },
  );
}

/** An application that knows nothing of a user would remove what others know. */
function noProperties() {
  const detail =
    "There are no properties. Send at least one. To remove all properties of a user, use a key with the scope read as well, or the dashboard.";
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}
