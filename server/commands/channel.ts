import { defineCommand } from "citty";
import type { Channel } from "../schemas/channel.ts";
import type { Job } from "../schemas/job.ts";
import { pathSegment } from "../schemas/path-segment.ts";
import { onOneLine, printLine, printMessage } from "./output.ts";
import { sourceArgs, withSource } from "./source.ts";
import { printTable } from "./table.ts";
import { ArgumentError } from "./with-store.ts";

const name = {
  type: "positional",
  required: true,
  description: "The channel",
  valueHint: "CHANNEL",
} as const;
const json = { type: "boolean", description: "Print JSON" } as const;
const icon = { type: "string", description: "An emoji; empty for none", valueHint: "I" } as const;
const description = { type: "string", description: "What the channel is for", valueHint: "TEXT" } as const;

const list = defineCommand({
  meta: { name: "list", description: "List channels" },
  args: {
    archived: { type: "boolean", description: "Only archived channels" },
    json: { type: "boolean", description: "Print each channel as a line of JSON" },
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const { channels } = await source.json<{ channels: Channel[] }>(
        `/api/channels${args.archived ? "?archived=true" : ""}`,
      );
      if (args.json) for (const channel of channels) await printLine(JSON.stringify(channel));
      else
        printTable([
          ["CHANNEL", "EVENTS", "LAST EVENT", "STATE"],
          ...channels.map(({ name, events, lastEventAt, archivedAt }) => [
            onOneLine(name),
            events.toLocaleString("en"),
            lastEventAt ?? "never",
            archivedAt === null ? "active" : "archived",
          ]),
        ]);
    }),
});

const create = defineCommand({
  meta: { name: "create", description: "Create a channel" },
  args: { name, icon, description, json, ...sourceArgs },
  run: ({ args }) => {
    const { name, icon, description } = args;
    return change(args, "Created", "/api/channels", "POST", { name, icon, description });
  },
});

const edit = defineCommand({
  meta: { name: "edit", description: "Change a channel" },
  args: {
    name,
    icon,
    description,
    "retention-days": {
      type: "string",
      description: 'How many days its events are kept, or "project" for the project\'s setting',
      valueHint: "N",
    },
    "first-tags": {
      type: "string",
      description: "Which tags come first where its events are listed, separated by commas; empty for none",
      valueHint: "K,…",
    },
    json,
    ...sourceArgs,
  },
  run: ({ args }) => {
    const days = args["retention-days"];
    const firstTags = args["first-tags"];
    return change(args, "Changed", pathOf(args.name), "PATCH", {
      icon: args.icon,
      description: args.description,
      ...(days !== undefined && { retentionDays: days === "project" ? null : Number(days) }),
      ...(firstTags !== undefined && { firstTags: firstTags.split(",").filter((key) => key !== "") }),
    });
  },
});

const archive = defineCommand({
  meta: {
    name: "archive",
    description: "Archive a channel: it still records events, but the sidebar hides it",
  },
  args: { name, undo: { type: "boolean", description: "Restore it from the archive" }, json, ...sourceArgs },
  run: ({ args }) =>
    change(args, args.undo ? "Restored" : "Archived", pathOf(args.name), "PATCH", { archived: !args.undo }),
});

const remove = defineCommand({
  meta: { name: "delete", description: "Delete a channel and all its events, in a job" },
  args: {
    name,
    yes: { type: "boolean", alias: "y", description: "Really delete it" },
    json,
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read", "manage"], async (source) => {
      if (!args.yes) throw new ArgumentError(`Add --yes to delete "${args.name}" and all its events.`);
      const { job } = await source.json<{ job: Job }>(pathOf(args.name), { method: "DELETE" });
      if (args.json) await printLine(JSON.stringify(job));
      else printMessage(`Deleting the channel "${args.name}": job ${job.id}.`);
    }),
});

export const channelCommand = defineCommand({
  meta: { name: "channel", description: "Manage a project's channels" },
  subCommands: { list, create, edit, archive, delete: remove },
});

function pathOf(name: string): string {
  return `/api/channels/${pathSegment(name)}`;
}

function change(
  args: { name: string; json?: boolean | undefined; project?: string | undefined; url?: string | undefined },
  done: string,
  path: string,
  method: "POST" | "PATCH",
  body: unknown,
): Promise<void> {
  return withSource(args, ["manage"], async (source) => {
    const { channel } = await source.json<{ channel: Channel }>(path, { method, body: JSON.stringify(body) });
    if (args.json) await printLine(JSON.stringify(channel));
    else printMessage(`${done} the channel "${channel.name}".`);
  });
}
