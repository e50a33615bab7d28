import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import type { Member } from "../../server/schemas/member.ts";
import { useMe } from "../account/me.ts";
import { Button } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { Group } from "../settings/group.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { InvitationList } from "./invitation-list.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { LeaveDialog } from "./leave-dialog.tsx";
import { MemberList } from "./member-list.tsx";
import { membersQuery } from "./members.ts";
import { TransferDialog } from "./transfer-dialog.tsx";

/** The project's members, and invitations to it. */
export function MembersPage() {
  const project = useProjectSlug();
  const { data: members, error, refetch } = useQuery(membersQuery(project));
  const can = useCan();
  const [inviting, setInviting] = useState(false);
  return (
    <>
      <PageHeader title="Members" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-9 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-col gap-5">
            <div className="flex items-center justify-between gap-4 max-md:flex-col max-md:items-start">
              <p className="max-w-2xl text-pretty text-muted text-sm">
                Members see this project's events. What else they may do depends on their role.
              </p>
              {can("members:manage") && (
                <Button variant="solid" onClick={() => setInviting(true)}>
                  <UserPlus aria-hidden className="size-4" />
                  Invite
                </Button>
              )}
            </div>
            {error && !members ? (
              <ErrorState title="Members couldn't be loaded" error={error} retry={() => void refetch()} />
            ) : !members ? (
              <Skeleton className="h-32 rounded-lg" />
            ) : (
              <MemberList members={members} />
            )}
          </div>
          {can("members:manage") && <InvitationList />}
          {members && <OwnMembership members={members} />}
        </div>
      </div>
      {inviting && <InviteDialog close={() => setInviting(false)} />}
    </>
  );
}

function OwnMembership({ members }: { members: Member[] }) {
  const slug = useProjectSlug();
  const { projects } = useMe();
  const project = projects.find((each) => each.slug === slug);
  const [dialog, setDialog] = useState<"leave" | "transfer" | null>(null);
  const close = () => setDialog(null);
  if (!project) return null;
  const isAlone = members.length === 1;
  const isOnlyOwner = project.role === "owner" && members.filter(({ role }) => role === "owner").length === 1;
  return (
    <Group
      title="Your membership"
      lead={
        isAlone
          ? "You are the only member. Invite somebody to hand over the project or to leave it."
          : isOnlyOwner
            ? "You are the only owner. To leave, make another member the owner first."
            : "If you leave, you no longer see this project. To come back, you need an invitation."
      }
    >
      <div className="flex flex-wrap gap-2">
        {project.role === "owner" && !isAlone && (
          <Button onClick={() => setDialog("transfer")}>Hand over ownership…</Button>
        )}
        {!isOnlyOwner && (
          <Button variant="danger" onClick={() => setDialog("leave")}>
            Leave project…
          </Button>
        )}
      </div>
      {dialog === "leave" && <LeaveDialog project={project} close={close} />}
      {dialog === "transfer" && <TransferDialog project={project} close={close} />}
    </Group>
  );
}
