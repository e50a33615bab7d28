import { z } from "@hono/zod-openapi";
import { makeChange } from "../audit/changes.ts";
import { startJob } from "../background/jobs.ts";
import type { BackgroundWorker } from "../background/worker.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Routes } from "../http/routes.ts";
import { JobResponse } from "../schemas/job.ts";
import { NewProject, ProjectChange, ProjectList, ProjectResponse } from "../schemas/project.ts";
import type { Store } from "../storage/store.ts";
import { checkProjectCreation } from "./project-creation.ts";
import { addProject, changeProject, closeProject, listProjects } from "./projects.ts";

const DeletionQuery = z.strictObject({
  confirm: z.string().openapi({ description: "The project's slug, to confirm." }),
});

export function addProjectRoutes(
  routes: Routes,
  {
    config,
    store: { control },
    keys,
    streams,
    worker,
  }: {
    config: Config;
    store: Store;
    keys: { invalidateProject: (id: number) => void };
    streams: { disconnectProject: (id: number) => void };
    worker: BackgroundWorker;
  },
): void {
  routes.add(
    {
      method: "get",
      path: "/api/projects",
      by: "account",
      tag: "Projects",
      summary: "List your projects",
      response: ProjectList,
    },
    async ({ account }) => ({ projects: await listProjects(control, account.id) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/projects",
      by: "account",
      tag: "Projects",
      summary: "Create a project",
      description: `An account owns at most ${limits.projectsPerAccount} projects. With \`TIDINGS_PROJECT_CREATION=owner\`, only the owner of the installation creates projects.`,
      body: NewProject,
      status: 201,
      response: ProjectResponse,
      problems: [409],
    },
    async ({ account, actor, body }) => {
      const project = await control.transaction().execute(async (transaction) => {
        await checkProjectCreation(transaction, account.id, config.projectCreation);
        return addProject(transaction, actor, body.name, account.id);
      });
      return { project };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/projects/{slug}",
      by: "project:change",
      tag: "Projects",
      summary: "Update a project",
      description: "The slug can't be changed.",
      versioned: "project",
      body: ProjectChange,
      response: ProjectResponse,
      problems: [404],
    },
    async (call) => {
      const { projectId, role, body, ifMatch } = call;
      const project = await makeChange(control, call, (change) => changeProject(change, role, body, ifMatch));
      keys.invalidateProject(projectId);
      if (body.retentionDays !== undefined) worker.wake();
      return { project };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/projects/{slug}",
      by: "project:delete",
      tag: "Projects",
      summary: "Delete a project",
      description:
        "The project disappears, its keys are rejected and its streams end at once. A job deletes its data.",
      query: DeletionQuery,
      status: 202,
      response: JobResponse,
      problems: [404],
    },
    async (call) => {
      const { projectId, account, query } = call;
      const slug = call.parameter("slug");
      if (query.confirm !== slug)
        throw problem("query-invalid", { detail: `"confirm" must be the project's slug, "${slug}".` });
      const job = await makeChange(control, call, async (change) => {
        await closeProject(change, slug);
        const deletion = { projectId, kind: "delete-project", accountId: account.id } as const;
        return startJob(change.transaction, deletion);
      });
      keys.invalidateProject(projectId);
      streams.disconnectProject(projectId);
      worker.wake();
      return { job };
    },
  );
}
