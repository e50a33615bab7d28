import type { Routes } from "../http/routes.ts";
import { JobResponse } from "../schemas/job.ts";
import type { Store } from "../storage/store.ts";
import { findJob } from "./jobs.ts";

export function addJobRoutes(routes: Routes, { store: { control } }: { store: Store }): void {
  routes.add(
    {
      method: "get",
      path: "/api/jobs/{id}",
      by: "caller",
      tag: "Jobs",
      summary: "Get a job's progress and receipt",
      response: JobResponse,
      problems: [404],
    },
    async ({ caller, parameter }) => {
      const reader = caller.by === "key" ? { projectId: caller.projectId } : { accountId: caller.account.id };
      return { job: await findJob(control, parameter("id"), reader) };
    },
  );
}
