import { makeChange } from "../audit/changes.ts";
import { signatureProblem } from "../auth/identity-signature.ts";
import { problem } from "../core/problems.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { checkKeyOrigin, type KeyRateLimits } from "../ingest/key-limits.ts";
import { Done } from "../schemas/done.ts";
import {
  GroupList,
  GroupListQuery,
  GroupMembers,
  GroupMembership,
  GroupMembersQuery,
  GroupResponse,
  GroupsOfUser,
  GroupTypeList,
  NewGroup,
  SavedGroupResponse,
} from "../schemas/group.ts";
import { UserProperties } from "../schemas/user.ts";
import { peopleIn } from "../storage/group-rows.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import type { UserActivity } from "../users/user-activity.ts";
import { checkUserId } from "../users/users.ts";
import { textOfCursor } from "../validation/page-query.ts";
import { changeGroup, deleteGroup, findGroup, groupsOfUser, listTypes, rowOf } from "./groups.ts";
import { listGroups } from "./list-groups.ts";
import { listMembers, removeMember } from "./members.ts";
import { saveGroups } from "./save-groups.ts";

type Deps = {
  store: Store;
  secrets: SecretBox;
  rateLimits: KeyRateLimits;
  userActivity: Pick<UserActivity, "update">;
};

const tag = "Groups";
/** How long a list of people waits for the newest events to be counted. */
const updateMs = 250;

export function addGroupRoutes(routes: Routes, { store, secrets, rateLimits, userActivity }: Deps): void {
  const { control } = store;

  /** Throws the problems of a publishable key: its origin, its rate, properties, and a signature of the new member. */
  async function checkSender(
    access: Access,
    request: Request,
    { properties, userId, signature }: NewGroup,
  ): Promise<void> {
    if (access.by !== "key") return;
    if (access.kind === "publishable") {
      if (properties !== undefined || userId === undefined)
        throw problem("key-insufficient", {
          detail:
            "A publishable key can't set properties or create groups, because whoever reads the page could change any group. It only adds a user, with a signature. Send the rest from your server with a secret key.",
        });
      checkKeyOrigin(access, request.headers.get("origin"));
    }
    await rateLimits.of(access)?.take(1);
    const refusal = userId === undefined ? null : signatureProblem(access, userId, signature, secrets);
    if (refusal) throw refusal;
  }

  routes.add(
    {
      method: "get",
      path: "/api/group-types",
      by: "events:read",
      tag,
      summary: "List the types of groups",
      description: "In the order in which they came. A type exists as long as the project has groups of it.",
      query: ProjectQuery,
      response: GroupTypeList,
    },
    async ({ projectId }) => ({ types: await listTypes(control, projectId) }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/groups",
      by: "events:read",
      tag,
      summary: "List groups of a type, by ID",
      query: GroupListQuery,
      response: GroupList,
    },
    ({ projectId, request: { signal }, query: { type, q = "", limit, cursor = "" } }) =>
      listGroups(store, { projectId, type, q, limit, after: textOfCursor(cursor), signal }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/groups",
      operationId: "saveGroup",
      by: "users:identify",
      tag,
      summary: "Save a group",
      description:
        "Creates the group if it is new, merges properties into those that it has, and makes the user a member. The search `TYPE:ID` finds the group's events from then on, past ones too. Publishable keys only add users to groups that exist, with a signature. See docs/companies.md.",
      query: ProjectQuery,
      body: NewGroup,
      response: SavedGroupResponse,
      problems: [404, 409],
    },
    async ({ request, body, ...access }) => {
      await checkSender(access, request, body);
      const { type, id, properties, userId } = body;
      const isPublishable = access.by === "key" && access.kind === "publishable";
      const change = { type, id, ...(properties && { set: properties }), ...(userId && { userId }) };
      const [refusal] = await saveGroups(store, access.projectId, [change], { mayCreate: !isPublishable });
      if (refusal) throw refusal;
      return {
        group: access.mayRead ? await findGroup(store, access.projectId, { type, id }) : { type, id },
      };
    },
  );

  const nameIn = (parameter: (name: string) => string) => ({ type: parameter("type"), id: parameter("id") });

  routes.add(
    {
      method: "get",
      path: "/api/groups/{type}/{id}",
      by: "events:read",
      tag,
      summary: "Get a group",
      query: ProjectQuery,
      response: GroupResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({ group: await findGroup(store, projectId, nameIn(parameter)) }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/groups/{type}/{id}",
      by: "groups:change",
      tag,
      summary: "Change a group's properties",
      description:
        "Merges the properties that are sent into those that the group has. `null` removes one (RFC 7396).",
      query: ProjectQuery,
      versioned: null,
      body: UserProperties,
      response: GroupResponse,
      problems: [404],
    },
    async (call) => {
      const name = nameIn(call.parameter);
      await makeChange(control, call, (change) => changeGroup(change, name, call.body, call.ifMatch));
      return { group: await findGroup(store, call.projectId, name) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/groups/{type}/{id}",
      by: "groups:change",
      tag,
      summary: "Delete a group",
      description:
        "With its properties and memberships. Events stay, and those that name it by a tag keep the tag.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await deleteGroup(control, call, nameIn(call.parameter));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/groups/{type}/{id}/members",
      by: "events:read",
      tag,
      summary: "List the people of a group",
      query: GroupMembersQuery,
      response: GroupMembers,
      problems: [404],
    },
    async ({ projectId, parameter, query: { limit, cursor = "" } }) => {
      const name = nameIn(parameter);
      await rowOf(control, projectId, name);
      await userActivity.update(updateMs);
      const [people, page] = await Promise.all([
        peopleIn(control, projectId, name.type, [name.id]),
        listMembers(store, projectId, name, { limit, after: textOfCursor(cursor) }),
      ]);
      return { people: people.get(name.id) ?? 0, ...page };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/groups/{type}/{id}/members",
      operationId: "addGroupMember",
      by: "groups:change",
      tag,
      summary: "Add a user to a group",
      query: ProjectQuery,
      body: GroupMembership,
      response: Done,
      problems: [404, 409],
    },
    async ({ projectId, parameter, body: { userId } }) => {
      const name = nameIn(parameter);
      await rowOf(control, projectId, name);
      const [refusal] = await saveGroups(store, projectId, [{ ...name, userId }], { mayCreate: false });
      if (refusal) throw refusal;
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/groups/{type}/{id}/members/{userId}",
      by: "groups:change",
      tag,
      summary: "Remove a user from a group",
      description: "By any of the person's IDs. All of them leave the group.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      const userId = call.parameter("userId");
      checkUserId(userId);
      await makeChange(control, call, ({ transaction, projectId }) =>
        removeMember(transaction, projectId, nameIn(call.parameter), userId),
      );
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/users/{userId}/groups",
      by: "events:read",
      tag,
      summary: "List the groups of a user",
      description: "By any ID of the person.",
      query: ProjectQuery,
      response: GroupsOfUser,
    },
    async ({ projectId, parameter }) => {
      const userId = parameter("userId");
      checkUserId(userId);
      return { groups: await groupsOfUser(control, projectId, userId) };
    },
  );
}
