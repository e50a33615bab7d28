import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor, recordAudit } from "../audit/audit-log.ts";
import { createProject } from "../projects/projects.ts";
import { NewProject } from "../wire/project.ts";
import { UsageError, withStore } from "./with-store.ts";

const create = defineCommand({
  meta: { name: "create", description: "Create a project and print its slug to standard output" },
  args: {
    name: { type: "positional", required: true, description: "Name of the project", valueHint: "NAME" },
    owner: {
      type: "string",
      description: "Email address of its owner (default: the first account)",
      valueHint: "E",
    },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
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
        const { id: projectId, project } = await createProject(transaction, args.name, owner?.id ?? null);
        await recordAudit(transaction, commandActor, {
          action: "project.created",
          projectId,
          target: project.slug,
        });
        return project;
      });
      console.log(slug);
    }),
});

export const projectCommand = defineCommand({
  meta: { name: "project", description: "Manage projects" },
  subCommands: { create },
});
