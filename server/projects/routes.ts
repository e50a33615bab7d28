import { z } from "@hono/zod-openapi";
import { startJob } from "../background/jobs.ts";
import type { BackgroundWorker } from "../background/worker.ts";
import type { Routes } from "../http/routes.ts";
import { problem } from "../problems.ts";
import type { Store } from "../storage/store.ts";
import { JobAnswer } from "../wire/job.ts";
import { NewProject, type Project, ProjectAnswer, ProjectChange, ProjectList } from "../wire/project.ts";
import { changeProject, closeProject, createProject, findProject, listProjects } from "./projects.ts";

const DeletionQuery = z.strictObject({
  confirm: z.string().openapi({ description: "The project's slug, to confirm." }),
});

export function addProjectRoutes(
  routes: Routes,
  {
    store: { control },
    keys,
    streams,
    worker,
  }: {
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
      answer: ProjectList,
    },
    async ({ account }) => ({ ok: true, projects: await listProjects(control, account.id) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/projects",
      by: "account",
      tag: "Projects",
      summary: "Create a project",
      body: NewProject,
      status: 201,
      answer: ProjectAnswer,
    },
    async ({ account, body }) => {
      const { project } = await control
        .transaction()
        .execute((transaction) => createProject(transaction, body.name, account.id));
      return { ok: true, project };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/projects/{slug}",
      by: "account",
      tag: "Projects",
      summary: "Update a project",
      description: "Owners only. The slug can't be changed.",
      body: ProjectChange,
      answer: ProjectAnswer,
      problems: [404],
    },
    async ({ account, body, parameter }) => {
      const { id, role } = await ownedProject(account.id, parameter("slug"), "change it");
      const project = await changeProject(control, id, role, body);
      keys.invalidateProject(id);
      if (body.retentionDays !== undefined) worker.wake();
      return { ok: true, project };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/projects/{slug}",
      by: "account",
      tag: "Projects",
      summary: "Delete a project",
      description:
        "Owners only. The project disappears, its keys are rejected and its streams end at once. A job deletes its data.",
      query: DeletionQuery,
      status: 202,
      answer: JobAnswer,
      problems: [404],
    },
    async ({ account, query, parameter }) => {
      const { id, slug } = await ownedProject(account.id, parameter("slug"), "delete it");
      if (query.confirm !== slug)
        throw problem("query-invalid", { detail: `"confirm" must be the project's slug, "${slug}".` });
      const job = await control.transaction().execute(async (transaction) => {
        await closeProject(transaction, id);
        return startJob(transaction, { projectId: id, kind: "delete-project", accountId: account.id });
      });
      keys.invalidateProject(id);
      streams.disconnectProject(id);
      worker.wake();
      return { ok: true, job };
    },
  );

  async function ownedProject(
    accountId: string,
    slug: string,
    action: string,
  ): Promise<{ id: number; slug: string; role: Project["role"] }> {
    const membership = (await listProjects(control, accountId)).find((project) => project.slug === slug);
    if (!membership)
      throw problem("project-unknown", { detail: "You are not a member of a project with this slug." });
    if (membership.role !== "owner")
      throw problem("project-forbidden", { detail: `Only the project's owner can ${action}.` });
    return { ...(await findProject(control, membership.slug)), role: membership.role };
  }
}
