import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor, recordAudit } from "../audit/audit-log.ts";
import { createKey } from "../auth/keys.ts";
import { findProject } from "../projects/projects.ts";
import { NewKey } from "../wire/key.ts";
import { UsageError, withStore } from "./with-store.ts";

const create = defineCommand({
  meta: { name: "create", description: "Create an API key and print it to standard output" },
  args: {
    project: { type: "string", required: true, description: "Project, by name or slug", valueHint: "P" },
    name: { type: "string", required: true, description: "What the key is for", valueHint: "N" },
    scopes: {
      type: "string",
      description:
        "What a secret key may do, separated by commas: ingest, read, manage (default: ingest,read)",
      valueHint: "S",
    },
    publishable: { type: "boolean", description: "Make a key for web pages, which only sends events" },
    origins: {
      type: "string",
      description: "Origins of the pages that may use a publishable key, separated by commas (default: all)",
      valueHint: "O",
    },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const body = NewKey.safeParse({
        name: args.name,
        ...(args.publishable && { kind: "publishable" }),
        ...(args.scopes !== undefined && { scopes: args.scopes.split(",") }),
        ...(args.origins !== undefined && { origins: args.origins.split(",") }),
      });
      if (!body.success) {
        const { path, message } = body.error.issues[0]!;
        throw new UsageError(`--${String(path[0])} ${message}.`);
      }
      const { id: projectId } = await findProject(control, args.project);
      const secret = await control.transaction().execute(async (transaction) => {
        const { key, secret } = await createKey(transaction, projectId, body.data, null);
        const { id, name, kind, scopes } = key;
        await recordAudit(transaction, commandActor, {
          action: "key.created",
          projectId,
          target: name,
          detail: { id, kind, scopes },
        });
        return secret;
      });
      console.log(secret);
    }),
});

export const keyCommand = defineCommand({
  meta: { name: "key", description: "Manage API keys" },
  subCommands: { create },
});
