import { UserMinus } from "lucide-react";
import { useState } from "react";
import type { Role } from "../../server/core/permissions.ts";
import type { Member } from "../../server/schemas/member.ts";
import { meQuery, useMe } from "../account/me.ts";
import { api, errorMessage } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { byParts, part } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { Panel } from "../settings/group.tsx";
import { toast } from "../shell/toasts.tsx";
import { invitationsQuery, membersQuery, refreshMembers, roleNames, rolesUpTo } from "./members.ts";
import { RemoveDialog } from "./remove-dialog.tsx";

export function MemberList({ members }: { members: Member[] }) {
  const slug = useProjectSlug();
  const { account, projects } = useMe();
  const ownRole = projects.find((each) => each.slug === slug)?.role ?? "viewer";
  const can = useCan();
  const [removing, setRemoving] = useState<Member | null>(null);
  // Only owners change owners. Nobody changes their own role by accident.
  const mayChange = ({ id, role }: Member) =>
    can("members:manage") && id !== account.id && (ownRole === "owner" || role !== "owner");
  return (
    <>
      <Panel>
        <ul aria-label="Members" className="divide-y divide-line">
          {members.map((member) => (
            <li key={member.id} className="flex min-h-16 items-center gap-3 px-4 py-2.5 max-md:flex-wrap">
              <span
                aria-hidden
                className="flex size-8 shrink-0 items-center justify-center rounded-full bg-pressed font-semibold text-muted text-sm uppercase"
              >
                {(member.name || member.email).slice(0, 1)}
              </span>
              <div className="min-w-0 flex-1 max-md:basis-[70%]">
                <p className="hostile font-medium">
                  {member.name}
                  {member.id === account.id && (
                    <span className="ml-2 rounded bg-accent-soft px-1.5 py-0.5 font-medium text-accent text-xs">
                      You
                    </span>
                  )}
                </p>
                <p className="hostile text-muted text-xs">
                  {member.email}
                  {member.id !== account.id && <Seen at={member.lastSeenAt} />}
                </p>
              </div>
              {mayChange(member) ? (
                <div className="flex items-center gap-1 max-md:ml-11">
                  <RoleSelect member={member} choices={rolesUpTo(ownRole)} />
                  <RowMenu
                    name={member.name}
                    actions={[
                      {
                        label: "Remove from the project…",
                        icon: UserMinus,
                        danger: true,
                        onSelect: () => setRemoving(member),
                      },
                    ]}
                  />
                </div>
              ) : (
                <span className="text-muted text-sm max-md:ml-11">{roleNames[member.role].name}</span>
              )}
            </li>
          ))}
        </ul>
      </Panel>
      {removing && <RemoveDialog member={removing} close={() => setRemoving(null)} />}
    </>
  );
}

function Seen({ at }: { at: string | null }) {
  return (
    <>
      {" · "}
      {at === null ? (
        "not seen yet"
      ) : (
        <>
          seen <RelativeTime at={at} form="long" />
        </>
      )}
    </>
  );
}

function RoleSelect({ member, choices }: { member: Member; choices: Role[] }) {
  const project = useProjectSlug();
  const { form, change, submit, isPending, dialog } = useEdit<Member, { role: Role }>({
    thing: member,
    what: "role",
    formOf: ({ role }) => ({ role }),
    compare: byParts([part(`Role of ${member.name}`, ["role"], ({ role }) => roleNames[role].name)]),
    // The own role may be why it failed.
    keys: [membersQuery(project).queryKey, invitationsQuery(project).queryKey, meQuery.queryKey],
    save: ({ role }, { version }) =>
      api(`/api/members/${member.id}`, { method: "PATCH", query: { project }, body: { role }, version }),
    failed(error) {
      toast({ title: "The role wasn't changed", description: errorMessage(error), failed: true });
      void Promise.all([refreshMembers(project), refresh(meQuery.queryKey)]);
    },
  });
  return (
    <>
      <select
        aria-label={`Role of ${member.name}`}
        value={form.role}
        disabled={isPending}
        onChange={(event) => {
          const role = event.target.value as Role;
          change({ role });
          submit({ role });
        }}
        className="h-8 w-25 rounded-md border border-line-strong bg-raised pl-2.5 text-sm disabled:opacity-60 max-md:h-10"
      >
        {choices.map((role) => (
          <option key={role} value={role}>
            {roleNames[role].name}
          </option>
        ))}
      </select>
      {dialog}
    </>
  );
}
