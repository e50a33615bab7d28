import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Role } from "../../server/core/permissions.ts";
import type { NewInvitationResponse } from "../../server/schemas/invitation.ts";
import { useMe } from "../account/me.ts";
import { api } from "../api.ts";
import { Field, SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { InvitationLink } from "./invitation-link.tsx";
import { refreshMembers, roleNames, rolesUpTo } from "./members.ts";

export function InviteDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const { projects, emailAvailable } = useMe();
  const ownRole = projects.find((each) => each.slug === project)?.role ?? "viewer";
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const invite = useMutation({
    mutationFn: () =>
      api<NewInvitationResponse>("/api/invitations", {
        method: "POST",
        query: { project },
        body: { role, ...(email.trim() !== "" && { email: email.trim() }) },
      }),
    onSuccess: () => refreshMembers(project),
  });
  if (invite.data) return <InvitationLink sent={invite.data} close={close} />;

  return (
    <FormDialog
      title="Invite to this project"
      description={`You get a link that works once, for ${limits.invitationDaysDefault} days.`}
      error={invite.error}
      action="Create invitation"
      busy={invite.isPending}
      submit={() => invite.mutate()}
      close={close}
    >
      <Field
        label="Email"
        type="email"
        autoComplete="off"
        maxLength={limits.emailCharacters}
        placeholder="ada@example.com"
        hint={
          emailAvailable
            ? "Optional. The link is sent there, and works only for this address."
            : "Optional. The link then works only for this address. Send it yourself: email is not configured on this server."
        }
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        member="email"
      />
      <SelectField
        label="Role"
        hint={roleNames[role].summary}
        value={role}
        onChange={(event) => setRole(event.target.value as Role)}
        member="role"
      >
        {rolesUpTo(ownRole).map((each) => (
          <option key={each} value={each}>
            {roleNames[each].name}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}
