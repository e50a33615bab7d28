import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import { MemberChange, MemberList, MemberResponse, Transfer, TransferResponse } from "../schemas/member.ts";
import type { Store } from "../storage/store.ts";
import { changeAsMember, changeRole, listMembers, removeMember, transferProject } from "./members.ts";
import { findOwnProject } from "./projects.ts";

type Deps = {
  store: Store;
  /** Ends the live streams of former members at once. Other nodes end theirs within a second. */
  streamAuthorizer: { check: () => Promise<void> };
};

export function addMemberRoutes(routes: Routes, { store: { control }, streamAuthorizer }: Deps): void {
  routes.add(
    {
      method: "get",
      path: "/api/members",
      by: "members:read",
      tag: "Members",
      summary: "List members",
      query: ProjectQuery,
      response: MemberList,
    },
    async ({ projectId }) => ({ members: await listMembers(control, projectId) }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/members/{id}",
      by: "members:manage",
      tag: "Members",
      summary: "Change a member's role",
      description: "Only an owner can make, change or remove an owner. A project always has an owner.",
      query: ProjectQuery,
      versioned: "member",
      body: MemberChange,
      response: MemberResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      const member = await changeAsMember(control, call, (change) =>
        changeRole(change, parameter("id"), body.role, ifMatch),
      );
      return { member };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/members/{id}",
      by: "members:manage",
      tag: "Members",
      summary: "Remove a member",
      description:
        "Takes effect at once: the member's requests are rejected, live streams end, and nothing more is sent to the member's destinations.",
      query: ProjectQuery,
      response: Done,
      problems: [404, 409],
    },
    async (call) => {
      await changeAsMember(control, call, (change) => removeMember(change, call.parameter("id")));
      await streamAuthorizer.check();
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/projects/{slug}/leave",
      by: "project:leave",
      tag: "Members",
      summary: "Leave a project",
      description: "The only owner must make another member the owner first.",
      response: Done,
      problems: [404, 409],
    },
    async (call) => {
      await changeAsMember(control, call, (change) => removeMember(change, call.account.id));
      await streamAuthorizer.check();
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/projects/{slug}/transfer",
      by: "project:transfer",
      tag: "Members",
      summary: "Make another member the owner",
      description: "You become an admin.",
      body: Transfer,
      response: TransferResponse,
      problems: [404],
    },
    async (call) => {
      await changeAsMember(control, call, (change) => transferProject(change, call.body.accountId));
      return { project: await findOwnProject(control, call.account.id, call.projectId) };
    },
  );
}
