import { useMutation, useQuery } from "@tanstack/react-query";
import { Link2, Mail, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { roles } from "../../server/core/permissions.ts";
import type { Invitation, NewInvitationResponse } from "../../server/schemas/invitation.ts";
import { useMe } from "../account/me.ts";
import { api, errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { ErrorState } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { Group, Panel } from "../settings/group.tsx";
import { toast } from "../shell/toasts.tsx";
import { InvitationLink } from "./invitation-link.tsx";
import { invitationsQuery, refreshMembers, roleNames } from "./members.ts";

/** Invitations that nobody has accepted yet. */
export function InvitationList() {
  const project = useProjectSlug();
  const { projects } = useMe();
  const ownRole = projects.find((each) => each.slug === project)?.role ?? "viewer";
  const { data: invitations, error, refetch } = useQuery(invitationsQuery(project));
  const [sent, setSent] = useState<NewInvitationResponse | null>(null);
  if (error && !invitations)
    return <ErrorState title="Invitations couldn't be loaded" error={error} retry={() => void refetch()} />;
  if (!invitations || invitations.length === 0) return null;
  return (
    <Group title="Invitations" lead="Not accepted yet">
      <Panel>
        <ul aria-label="Invitations" className="divide-y divide-line">
          {invitations.map((invitation) => (
            <Item
              key={invitation.id}
              invitation={invitation}
              mayRenew={roles.indexOf(invitation.role) >= roles.indexOf(ownRole)}
              onSent={setSent}
            />
          ))}
        </ul>
      </Panel>
      {sent && <InvitationLink sent={sent} close={() => setSent(null)} />}
    </Group>
  );
}

type ItemProps = {
  invitation: Invitation;
  mayRenew: boolean;
  onSent: (sent: NewInvitationResponse) => void;
};

function Item({ invitation, mayRenew, onSent }: ItemProps) {
  const project = useProjectSlug();
  const { id, email, role, invitedBy, expiresAt } = invitation;
  const revoke = useMutation({
    mutationFn: () => api(`/api/invitations/${id}`, { method: "DELETE", query: { project } }),
    onError: showError("The invitation wasn't revoked"),
    onSettled: () => refreshMembers(project),
  });
  const renew = useMutation({
    mutationFn: () =>
      api<NewInvitationResponse>(`/api/invitations/${id}/renew`, { method: "POST", query: { project } }),
    onSuccess: onSent,
    onError: showError("There is no new link"),
    onSettled: () => refreshMembers(project),
  });
  const who = email ?? "Anyone with the link";
  const hasExpired = Date.parse(expiresAt) <= Date.now();
  const isSent = useMe().emailAvailable && email !== null;
  const Icon = email === null ? Link2 : Mail;
  return (
    <li className="flex min-h-16 items-center gap-3 px-4 py-2.5">
      <Icon aria-hidden className="mx-2 size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1">
        <p className="hostile font-medium">{who}</p>
        <p className="hostile text-muted text-xs">
          {roleNames[role].name} · invited by {invitedBy} ·{" "}
          {hasExpired ? (
            <span className="text-danger">expired</span>
          ) : (
            `until ${formatDate(expiresAt, "dayOfYear")}`
          )}
        </p>
      </div>
      <RowMenu
        name={`the invitation of ${who}`}
        actions={[
          mayRenew && {
            label: isSent ? "Send again" : "New link",
            icon: isSent ? Send : Link2,
            disabled: renew.isPending,
            onSelect: () => renew.mutate(),
          },
          {
            label: "Revoke",
            icon: Trash2,
            danger: true,
            disabled: revoke.isPending,
            onSelect: () => revoke.mutate(),
          },
        ]}
      />
    </li>
  );
}

function showError(title: string) {
  return (error: unknown) => toast({ title, description: errorMessage(error), failed: true });
}
