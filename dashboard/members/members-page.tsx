import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
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
        <div className="mx-auto flex max-w-4xl flex-col gap-9 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-col gap-5">
            <div className="flex flex-wrap items-center justify-between gap-4">
              <p className="max-w-lg text-muted text-sm">
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
              <>
                <MemberList members={members} />
                {members.length === 1 && can("members:manage") && (
                  <p className="mt-3 text-muted text-sm">
                    You're alone here. Invite your team, and each person chooses what to be notified of.
                  </p>
                )}
              </>
            )}
          </div>
          {can("members:manage") && <InvitationList />}
          {members && <OwnMembership owners={members.filter(({ role }) => role === "owner").length} />}
        </div>
      </div>
      {inviting && <InviteDialog close={() => setInviting(false)} />}
    </>
  );
}

function OwnMembership({ owners }: { owners: number }) {
  const slug = useProjectSlug();
  const { projects } = useMe();
  const project = projects.find((each) => each.slug === slug);
  const [dialog, setDialog] = useState<"leave" | "transfer" | null>(null);
  const close = () => setDialog(null);
  if (!project) return null;
  const isOnlyOwner = project.role === "owner" && owners === 1;
  return (
    <Group
      title="Your membership"
      lead={
        isOnlyOwner
          ? "You are the only owner. To leave, make another member the owner first."
          : "If you leave, you no longer see this project. To come back, you need an invitation."
      }
    >
      <div className="flex flex-wrap gap-2">
        {project.role === "owner" && (
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
