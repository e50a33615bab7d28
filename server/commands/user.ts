import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { ProblemError } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { Cursor } from "../event/filter.ts";
import { isEventId } from "../event/id.ts";
import { groupsOfUser } from "../groups/groups.ts";
import { mergeUsers } from "../people/merge-users.ts";
import { splitId } from "../people/split-id.ts";
import { findProject } from "../projects/projects.ts";
import type { IdOfUser } from "../schemas/user.ts";
import { peopleChanged } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { recountUsers } from "../users/check-users.ts";
import { cohortsOfUser } from "../users/cohorts-of-user.ts";
import { listNotes } from "../users/notes.ts";
import { checkUserId, findUser } from "../users/users.ts";
import { jsonArg, onOneLine, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { asUsage, UsageError, withStore } from "./with-store.ts";

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
      if (!found) throw unknownUser(slug, args.user);
      if (args.json) console.log(JSON.stringify(found));
      else printTable([["ID", "JOINED TO", "AT", "HOW", "BY"], ...found.ids.map(columnsOf)]);
    }),
});

/** Events that `show` lists. */
const shownEvents = 20;

const show = defineCommand({
  meta: {
    name: "show",
    description: "Show what is known of a user: IDs, properties, groups, cohorts, notes and the last events",
  },
  args: {
    user,
    project: projectArg,
    before: {
      type: "string",
      description: "Only events before this one, by its ID: what led to it",
      valueHint: "EVENT",
    },
    json: { type: "boolean", description: "Print everything as JSON" },
  },
  run: ({ args }) =>
    withStore(async (store) => {
      const { control } = store;
      const { id: projectId, slug } = await findProject(control, args.project);
      const found = await findUser(store, projectId, args.user);
      if (!found) throw unknownUser(slug, args.user);
      const { userId } = found;
      const before = args.before === undefined ? null : await placeOf(store, projectId, args.before);
      const [groups, cohorts, notes, page] = await Promise.all([
        groupsOfUser(control, projectId, userId),
        cohortsOfUser(control, projectId, userId),
        listNotes(control, projectId, userId),
        store.events.page(
          { projectId, filter: { userId }, order: "desc", ...(before && { after: before }) },
          shownEvents,
        ),
      ]);
      const events = page.events.map((json) => JSON.parse(json) as Event);
      if (args.json) {
        console.log(JSON.stringify({ ...found, groups, cohorts, notes, events }));
        return;
      }
      const tables = [
        [["ID", "JOINED TO", "AT", "HOW", "BY"], ...found.ids.map(columnsOf)],
        [
          ["PROPERTY", "VALUE"],
          ...Object.entries(found.properties).map(([name, value]) => [
            onOneLine(name),
            onOneLine(String(value)),
          ]),
        ],
        [["GROUP", "ID"], ...groups.map(({ type, id }) => [type, id])],
        [["COHORT"], ...cohorts.map(({ name }) => [name])],
        [
          ["NOTE", "BY", "AT"],
          ...notes.map(({ text, author, createdAt }) => [onOneLine(text), author?.name ?? "", createdAt]),
        ],
        [
          ["EVENT", "CHANNEL", "AT", "ID"],
          ...events.map(({ name, channelId, createdAt, id }) => [onOneLine(name), channelId, createdAt, id]),
        ],
      ].filter(({ length }) => length > 1);
      for (const [index, table] of tables.entries()) {
        if (index > 0) console.log("");
        printTable(table);
      }
    }),
});

/** An event's place in the order of listings. */
async function placeOf({ events }: Store, projectId: number, eventId: string): Promise<Cursor> {
  const id = eventId.toLowerCase();
  const json = isEventId(id) ? await events.find(projectId, id) : null;
  if (json === null) throw new UsageError(`The project has no event "${eventId}".`);
  return { ms: Date.parse((JSON.parse(json) as Event).createdAt), id };
}

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
  meta: { name: "user", description: "Show users, merge those who are one person, and split off IDs" },
  subCommands: { show, ids, merge, split },
});

function unknownUser(slug: string, userId: string): UsageError {
  return new UsageError(
    `The project "${slug}" has no user "${userId}": there are no events and no properties.`,
  );
}

/** `asUsage`, with what to add to the command. */
function made<Result>(change: () => Promise<Result>): Promise<Result> {
  return asUsage(() =>
    change().catch((error) => {
      if (error instanceof ProblemError && error.code === "user-known")
        throw new UsageError("Both users are known. If they are one person, add --force.");
      throw error;
    }),
  );
}

function columnsOf({ userId, joinedTo, joinedAt, joinedBy, joinedName }: IdOfUser): string[] {
  return [userId, joinedTo ?? "", joinedAt ?? "", joinedBy ?? "main ID", joinedName ?? ""];
}
