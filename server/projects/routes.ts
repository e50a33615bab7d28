import type { House } from "../house.ts";
import type { Routes } from "../routes.ts";
import { problem } from "../wire/problems.ts";
import { NewProject, ProjectAnswer, ProjectChange, ProjectList } from "../wire/project.ts";
import { changeProject, createProject, findProject, listProjects } from "./projects.ts";

export function addProjectRoutes(routes: Routes, { store: { control }, keys }: House): void {
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
      summary: "Change a project's name or settings",
      description: "For its owner. The slug stays as it is.",
      body: ProjectChange,
      answer: ProjectAnswer,
      problems: [404],
    },
    async ({ account, body, parameter }) => {
      const mine = (await listProjects(control, account.id)).find(({ slug }) => slug === parameter("slug"));
      if (!mine) throw problem("project-unknown", { detail: "You are not a member of such a project." });
      if (mine.role !== "owner")
        throw problem("project-forbidden", { detail: "Only the project's owner can change it." });
      const { id } = await findProject(control, mine.slug);
      const project = await changeProject(control, id, mine.role, body);
      keys.forgetProject(id);
      return { ok: true, project };
    },
  );
}
