import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { startJob } from "../background/jobs.ts";
import { addProject, closeProject, findProject } from "../projects/projects.ts";
import { NewProject } from "../schemas/project.ts";
import { jsonArg, printMessage, printResult } from "./output.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withCreatedStore, withStore } from "./with-store.ts";

const create = defineCommand({
  meta: { name: "create", description: "Create a project and print its slug to standard output" },
  args: {
    name: { type: "positional", required: true, description: "Name of the project", valueHint: "NAME" },
    owner: {
      type: "string",
      description: "Email address of its owner (default: the first account)",
      valueHint: "E",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withCreatedStore(async ({ control }) => {
      const body = NewProject.safeParse({ name: args.name });
      if (!body.success) throw new UsageError(`The project's name ${body.error.issues[0]!.message}.`);
      const { slug } = await control.transaction().execute(async (transaction) => {
        const owner = await transaction
          .selectFrom("accounts")
          .select("id")
          .$if(args.owner !== undefined, (query) => query.where("email", "=", args.owner!.toLowerCase()))
          .orderBy("createdAt")
          .limit(1)
          .executeTakeFirst();
        if (!owner && args.owner !== undefined)
          throw new UsageError(`There is no account with the email address ${args.owner}.`);
        return addProject(transaction, commandActor, args.name, owner?.id ?? null);
      });
      await printResult(args.json, { slug, name: args.name }, slug);
    }),
});

const list = defineCommand({
  meta: { name: "list", description: "List all projects of the installation" },
  args: { json: { type: "boolean", description: "Print each project as a line of JSON" } },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const projects = await control
        .selectFrom("projects")
        .leftJoin("members", "members.projectId", "projects.id")
        .select(["projects.slug", "projects.name", "projects.retentionDays"])
        .select((eb) => eb.fn.count<number>("members.accountId").as("members"))
        .where("projects.deletedAt", "is", null)
        .groupBy(["projects.id", "projects.slug", "projects.name", "projects.retentionDays"])
        .orderBy("projects.id")
        .execute();
      // PostgreSQL counts in texts.
      const rows = projects.map((project) => ({ ...project, members: Number(project.members) }));
      if (args.json) for (const row of rows) console.log(JSON.stringify(row));
      else
        printTable([
          ["PROJECT", "NAME", "MEMBERS", "KEEPS EVENTS"],
          ...rows.map(({ slug, name, members, retentionDays }) => [
            slug,
            name,
            String(members),
            retentionDays === null ? "forever" : `${retentionDays} days`,
          ]),
        ]);
    }),
});

const remove = defineCommand({
  meta: {
    name: "delete",
    description:
      "Delete a project with all its data. It disappears at once; the server deletes its data in a job",
  },
  args: {
    project: { type: "positional", required: true, description: "The project, by name or slug" },
    confirm: { type: "string", required: true, description: "Its slug, once more", valueHint: "SLUG" },
    json: { type: "boolean", description: "Print the job as JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id, slug } = await findProject(control, args.project);
      if (args.confirm !== slug) throw new ArgumentError(`--confirm must be the project's slug, "${slug}".`);
      const job = await makeChange(control, { actor: commandActor, projectId: id }, async (change) => {
        await closeProject(change, slug);
        return startJob(change.transaction, { projectId: id, kind: "delete-project" });
      });
      if (args.json) console.log(JSON.stringify(job));
      else printMessage(`Deleted the project "${slug}". Job ${job.id} deletes its data while a server runs.`);
    }),
});

export const projectCommand = defineCommand({
  meta: { name: "project", description: "Manage projects" },
  subCommands: { create, list, delete: remove },
});
