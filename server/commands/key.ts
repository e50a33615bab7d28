import "../validation/messages.ts";
import { defineCommand } from "citty";
import { createKey } from "../auth/keys.ts";
import { findProject } from "../projects/projects.ts";
import { NewKey } from "../wire/key.ts";
import { UsageError, withStore } from "./with-store.ts";

const create = defineCommand({
  meta: { name: "create", description: "Create an API key and print it to standard output" },
  args: {
    project: { type: "string", required: true, description: "Project, by name or slug", valueHint: "P" },
    name: { type: "string", required: true, description: "What the key is for", valueHint: "N" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const body = NewKey.safeParse({ name: args.name });
      if (!body.success) throw new UsageError(`--name ${body.error.issues[0]!.message}.`);
      const { id } = await findProject(control, args.project);
      const { secret } = await createKey(control, id, body.data.name);
      console.log(secret);
    }),
});

export const keyCommand = defineCommand({
  meta: { name: "key", description: "Manage API keys" },
  subCommands: { create },
});
