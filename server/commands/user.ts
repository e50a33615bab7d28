import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { ProblemError } from "../core/problems.ts";
import { mergeUsers } from "../people/merge-users.ts";
import { splitId } from "../people/split-id.ts";
import { findProject } from "../projects/projects.ts";
import type { IdOfUser } from "../schemas/user.ts";
import { peopleChanged } from "../storage/people.ts";
import { recountUsers } from "../users/check-users.ts";
import { checkUserId, findUser } from "../users/users.ts";
import { jsonArg, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { UsageError, withStore } from "./with-store.ts";

const user = {
  type: "positional",
  required: true,
  description: "Any ID of the user",
  valueHint: "USER",
} as const;

const ids = defineCommand({
  meta: { name: "ids", description: "List the IDs of a user, and when and how each was joined" },
  args: { user, project: projectArg, json: { type: "boolean", description: "Print the user as JSON" } },
  run: ({ args }) =>
    withStore(async (store) => {
      const { id: projectId, slug } = await findProject(store.control, args.project);
      const found = await findUser(store, projectId, args.user);
      if (!found)
        throw new UsageError(
          `The project "${slug}" has no user "${args.user}": there are no events and no properties.`,
        );
      if (args.json) console.log(JSON.stringify(found));
      else printTable([["ID", "JOINED TO", "AT", "HOW", "BY"], ...found.ids.map(columnsOf)]);
    }),
});

const merge = defineCommand({
  meta: { name: "merge", description: "Make another user a part of a user, with all their IDs" },
  args: {
    user,
    other: {
      type: "positional",
      required: true,
      description: "Any ID of the other user",
      valueHint: "OTHER",
    },
    project: projectArg,
    force: { type: "boolean", description: "Also if both were identified, and so may be two people" },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async (store) => {
      const { control } = store;
      const { id: projectId } = await findProject(control, args.project);
      const body = { userId: args.other, ...(args.force && { force: true }) };
      await made(async () => {
        checkUserId(args.user);
        await makeChange(control, { actor: commandActor, projectId }, (change) =>
          mergeUsers(change, args.user, body),
        );
        peopleChanged(control, projectId);
      });
      const merged = (await findUser(store, projectId, args.user))!;
      const all = merged.ids.map(({ userId }) => userId).join(", ");
      await report(args.json, merged, `"${merged.userId}" has the IDs ${all}.`);
    }),
});

const split = defineCommand({
  meta: { name: "split", description: "Split an ID off its user: undoes a merge" },
  args: {
    id: { type: "positional", required: true, description: "The ID to split off", valueHint: "ID" },
    project: projectArg,
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async (store) => {
      const { control } = store;
      const { id: projectId } = await findProject(control, args.project);
      const done = await made(() =>
        makeChange(control, { actor: commandActor, projectId }, (change) => splitId(change, args.id)),
      );
      peopleChanged(control, projectId);
      await recountUsers(store, projectId, [done.userId, done.from]);
      await report(args.json, done, `"${done.userId}" is a user of its own, and no longer "${done.from}".`);
    }),
});

export const userCommand = defineCommand({
  meta: { name: "user", description: "Merge users who are one person, and split off IDs" },
  subCommands: { ids, merge, split },
});

/** What the API would answer with a problem is a mistake in the command's arguments. */
async function made<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    throw new UsageError(
      error.code === "user-known"
        ? "Both users are known. If they are one person, add --force."
        : error.options.detail,
    );
  }
}

function columnsOf({ userId, joinedTo, joinedAt, joinedBy, joinedName }: IdOfUser): string[] {
  return [userId, joinedTo ?? "", joinedAt ?? "", joinedBy ?? "main ID", joinedName ?? ""];
}
