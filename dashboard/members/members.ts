import { queryOptions } from "@tanstack/react-query";
import { type Role, roles } from "../../server/core/permissions.ts";
import type { Invitation, InvitationPreview } from "../../server/schemas/invitation.ts";
import type { Member } from "../../server/schemas/member.ts";
import { api } from "../api.ts";
import { refresh } from "../queries.ts";

export function membersQuery(project: string) {
  return queryOptions({
    queryKey: ["members", project],
    queryFn: async () =>
      (await api<{ ok: true; members: Member[] }>("/api/members", { query: { project } })).members,
  });
}

export function invitationsQuery(project: string) {
  return queryOptions({
    queryKey: ["invitations", project],
    queryFn: async () =>
      (await api<{ ok: true; invitations: Invitation[] }>("/api/invitations", { query: { project } }))
        .invitations,
  });
}

/** The invitation behind a link. */
export function previewQuery(token: string) {
  return queryOptions({
    queryKey: ["invitation", token],
    queryFn: () => api<InvitationPreview>(invitationPath(token)),
    staleTime: 0,
  });
}

export function invitationPath(token: string): string {
  return `/api/invitations/token/${encodeURIComponent(token)}`;
}

/** Invitations too, because they are void without their sender. */
export function refreshMembers(project: string): Promise<void> {
  return refresh(membersQuery(project).queryKey, invitationsQuery(project).queryKey);
}

/** The roles that a member with this role can give. */
export function rolesUpTo(role: Role): Role[] {
  return roles.slice(roles.indexOf(role));
}

export const roleNames: Record<Role, { name: string; article: string; summary: string }> = {
  owner: { name: "Owner", article: "an owner", summary: "Owners may do everything, and delete the project." },
  admin: { name: "Admin", article: "an admin", summary: "Admins manage members, API keys and settings." },
  member: {
    name: "Member",
    article: "a member",
    summary: "Members send and delete events, and manage channels.",
  },
  viewer: { name: "Viewer", article: "a viewer", summary: "Viewers see everything and change nothing." },
};
