import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { deleteGroup, findGroup, listTypes, rowOf } from "../groups/groups.ts";
import { listGroups } from "../groups/list-groups.ts";
import { listMembers, removeMember } from "../groups/members.ts";
import { saveGroups } from "../groups/save-groups.ts";
import { findProject } from "../projects/projects.ts";
import type { GroupInList } from "../schemas/group.ts";
import { faultsInProperties, type UserProperties } from "../schemas/user-rule.ts";
import { checkUserId } from "../users/users.ts";
import { textOfCursor } from "../validation/page-query.ts";
import { jsonArg, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, asUsage, withStore } from "./with-store.ts";

const type = {
  type: "positional",
  required: true,
  description: "The type of the group, such as company",
  valueHint: "TYPE",
} as const;
const id = { type: "positional", required: true, description: "The group's ID", valueHint: "ID" } as const;
const user = {
  type: "positional",
  required: true,
  description: "Any ID of the user",
  valueHint: "USER",
} as const;

/** People whom `show` lists. */
const shownPeople = 50;

const types = defineCommand({
  meta: { name: "types", description: "List the types of groups that a project has" },
  args: { project: projectArg, json: { type: "boolean", description: "Print each type as a line of JSON" } },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id: projectId } = await findProject(control, args.project);
      const found = await listTypes(control, projectId);
      if (args.json) for (const each of found) console.log(JSON.stringify(each));
      else printTable([["TYPE", "GROUPS"], ...found.map((each) => [each.type, String(each.groups)])]);
    }),
});

const list = defineCommand({
  meta: { name: "list", description: "List groups of a type, with their people and events" },
  args: {
    type,
    project: projectArg,
    q: { type: "string", description: "Only those with these words in ID or properties", valueHint: "WORDS" },
    json: { type: "boolean", description: "Print each group as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async (store) => {
      const { id: projectId } = await findProject(store.control, args.project);
      const { signal } = new AbortController();
      const found: GroupInList[] = [];
      for (let after: string | null = ""; after !== null; ) {
        const query = {
          projectId,
          type: args.type,
          q: args.q ?? "",
          limit: limits.listedGroups,
          after,
          signal,
        };
        const page: Awaited<ReturnType<typeof listGroups>> = await listGroups(store, query);
        found.push(...page.groups);
        after = page.nextCursor === null ? null : textOfCursor(page.nextCursor);
      }
      if (args.json) for (const each of found) console.log(JSON.stringify(each));
      else printTable([["ID", "PEOPLE", "EVENTS", "LAST SEEN"], ...found.map(columnsOf)]);
    }),
});

const show = defineCommand({
  meta: { name: "show", description: "Show a group's properties, people and most frequent events" },
  args: { type, id, project: projectArg, json: { type: "boolean", description: "Print the group as JSON" } },
  run: ({ args }) =>
    withStore(async (store) => {
      const { id: projectId } = await findProject(store.control, args.project);
      const name = { type: args.type, id: args.id };
      const group = await asUsage(() => findGroup(store, projectId, name));
      const { users } = await listMembers(store, projectId, name, { limit: shownPeople, after: "" });
      if (args.json) {
        console.log(JSON.stringify({ ...group, users }));
        return;
      }
      printTable([
        ["PROPERTY", "VALUE"],
        ...Object.entries(group.properties).map(([key, value]) => [key, String(value)]),
      ]);
      console.log("");
      printTable([["EVENT", "COUNT"], ...group.names.map(({ name, events }) => [name, String(events)])]);
      console.log("");
      printTable([
        ["PERSON", "EVENTS", "LAST SEEN"],
        ...users.map(({ userId, events, lastSeenAt }) => [userId, String(events), lastSeenAt ?? "never"]),
      ]);
    }),
});

const save = defineCommand({
  meta: { name: "save", description: "Create a group, or set some of its properties" },
  args: {
    type,
    id,
    project: projectArg,
    properties: {
      type: "string",
      description: "Merged into the group's, as a JSON object; null removes one",
      valueHint: "JSON",
    },
    user: { type: "string", description: "A user who becomes a member", valueHint: "USER" },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async (store) => {
      const { id: projectId } = await findProject(store.control, args.project);
      const name = { type: args.type, id: args.id };
      const set = args.properties === undefined ? {} : propertiesIn(args.properties);
      const userId = args.user === undefined ? {} : { userId: args.user };
      await asUsage(async () => {
        const [refusal] = await saveGroups(store, projectId, [{ ...name, set, ...userId }], {
          mayCreate: true,
        });
        if (refusal) throw refusal;
      });
      await report(
        args.json,
        await findGroup(store, projectId, name),
        `Saved the ${args.type} "${args.id}".`,
      );
    }),
});

const add = defineCommand({
  meta: { name: "add", description: "Add a user to a group" },
  args: { type, id, user, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async (store) => {
      const { id: projectId } = await findProject(store.control, args.project);
      const name = { type: args.type, id: args.id };
      await asUsage(async () => {
        await rowOf(store.control, projectId, name);
        const [refusal] = await saveGroups(store, projectId, [{ ...name, userId: args.user }], {
          mayCreate: false,
        });
        if (refusal) throw refusal;
      });
      await report(args.json, { ...name, userId: args.user }, `"${args.user}" is a member of "${args.id}".`);
    }),
});

const remove = defineCommand({
  meta: { name: "remove", description: "Remove a user from a group, with all their IDs" },
  args: { type, id, user, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id: projectId } = await findProject(control, args.project);
      const name = { type: args.type, id: args.id };
      await asUsage(async () => {
        checkUserId(args.user);
        await makeChange(control, { actor: commandActor, projectId }, ({ transaction }) =>
          removeMember(transaction, projectId, name, args.user),
        );
      });
      await report(
        args.json,
        { ...name, userId: args.user },
        `"${args.user}" is no member of "${args.id}" now.`,
      );
    }),
});

const deletion = defineCommand({
  meta: { name: "delete", description: "Delete a group. Its events and people stay" },
  args: { type, id, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id: projectId } = await findProject(control, args.project);
      const name = { type: args.type, id: args.id };
      await asUsage(() => deleteGroup(control, { actor: commandActor, projectId }, name));
      await report(args.json, name, `Deleted the ${args.type} "${args.id}".`);
    }),
});

export const groupCommand = defineCommand({
  meta: { name: "group", description: "Manage companies and other groups of users" },
  subCommands: { types, list, show, save, add, remove, delete: deletion },
});

function propertiesIn(json: string): UserProperties {
  let properties: unknown;
  try {
    properties = JSON.parse(json);
  } catch {
    throw new ArgumentError(`--properties must be a JSON object, such as '{"plan":"team"}'.`);
  }
  const [fault] = faultsInProperties(properties);
  if (fault) throw new ArgumentError(`--properties: ${[...fault.path, fault.message].join(" ")}.`);
  return properties as UserProperties;
}

function columnsOf({ id, people, events, lastSeenAt }: GroupInList): string[] {
  return [id, String(people), String(events), lastSeenAt ?? "never"];
}
