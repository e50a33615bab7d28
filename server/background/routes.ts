import type { Access } from "../auth/authorizer.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { problem } from "../problems.ts";
import type { House } from "../services.ts";
import { checkUserId } from "../users/users.ts";
import { JobAnswer } from "../wire/job.ts";
import { findJob, joinOrStartJob } from "./jobs.ts";

export function addJobRoutes(routes: Routes, { store: { control }, upkeep }: House): void {
  routes.add(
    {
      method: "get",
      path: "/api/jobs/{id}",
      by: "caller",
      tag: "Jobs",
      summary: "Get a job's progress and receipt",
      answer: JobAnswer,
      problems: [404],
    },
    async ({ caller, parameter }) => {
      const reader = caller.by === "key" ? { projectId: caller.projectId } : { accountId: caller.account.id };
      return { ok: true, job: await findJob(control, parameter("id"), reader) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/users/{userId}",
      by: "project",
      tag: "Users",
      summary: "Erase a user",
      description:
        "Starts a job that removes the user's events and everything else that names them, from every file of the data directory. Unknown users can be erased too.",
      query: ProjectQuery,
      status: 202,
      answer: JobAnswer,
      problems: [409],
    },
    async (call) => {
      const userId = call.parameter("userId");
      checkUserId(userId);
      return { ok: true, job: await start(call, "erase-user", userId) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/channels/{name}",
      by: "project",
      tag: "Channels",
      summary: "Delete a channel and its events",
      description: "Starts a job. A new event recreates the channel.",
      query: ProjectQuery,
      status: 202,
      answer: JobAnswer,
      problems: [404, 409],
    },
    async (call) => {
      const name = call.parameter("name");
      const channel = await control
        .selectFrom("channels")
        .select("name")
        .where("projectId", "=", call.projectId)
        .where("name", "=", name)
        .executeTakeFirst();
      if (!channel)
        throw problem("channel-unknown", { detail: "This project has no channel with this name." });
      return { ok: true, job: await start(call, "delete-channel", name) };
    },
  );

  async function start(access: Access, kind: "erase-user" | "delete-channel", subject: string) {
    const { projectId } = access;
    const starter = access.by === "account" ? { accountId: access.account.id } : {};
    const job = await joinOrStartJob(control, { projectId, kind, subject, ...starter });
    upkeep.wake();
    return job;
  }
}
