import { useQuery } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import type { RejectedEvent, RejectedGroup } from "../../server/schemas/rejected-event.ts";
import { countOf } from "../components/counts.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { FixDialog } from "./fix-dialog.tsx";
import { FixGroupDialog } from "./fix-group-dialog.tsx";
import { idOfGroup, useDiscardGroup } from "./rejected.ts";
import { RejectedGroupItem } from "./rejected-group.tsx";
import { rejectedGroupsQuery } from "./rejected-groups.ts";

type Opened =
  | { dialog: "fix"; rejected: RejectedEvent }
  | { dialog: "fix-all" | "discard"; group: RejectedGroup };

/** Rejected events by reason and key, to fix or discard. */
export function RejectedPage() {
  const project = useProjectSlug();
  const mayChange = useCan()("rejected:change");
  const { data, error, refetch } = useQuery(rejectedGroupsQuery(project));
  /** Groups that were folded or unfolded; a single one is unfolded. */
  const [unfolded, setUnfolded] = useState<Record<string, boolean>>({});
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const groups = data?.groups;
  const isOpen = (group: RejectedGroup) => unfolded[idOfGroup(group)] ?? groups?.length === 1;
  const others = data ? data.total - data.groups.reduce((sum, { count }) => sum + count, 0) : 0;
  return (
    <>
      <PageHeader title="Rejected events" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <p className="max-w-xl text-muted text-sm">
            {data?.retentionDays === 0
              ? "This installation doesn't keep rejected events."
              : `Invalid events are kept here ${data === undefined ? "" : `for ${countOf(data.retentionDays, "day")} `}${mayChange ? "so you can fix and resend them." : "until a member, admin or owner fixes and resends them."}`}
          </p>
          {error && !groups ? (
            <ErrorState
              title="Rejected events couldn't be loaded"
              error={error}
              retry={() => void refetch()}
            />
          ) : !groups ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : groups.length === 0 ? (
            <EmptyState icon={<ShieldCheck aria-hidden />} title="No rejected events">
              There's nothing to fix. An invalid event appears here with its reasons, even if its sender
              ignores the response.
            </EmptyState>
          ) : (
            <ul aria-label="Reasons" className="overflow-hidden rounded-lg border border-line bg-raised">
              {groups.map((group) => (
                <RejectedGroupItem
                  key={idOfGroup(group)}
                  group={group}
                  isOpen={isOpen(group)}
                  toggle={() => setUnfolded({ ...unfolded, [idOfGroup(group)]: !isOpen(group) })}
                  fix={(rejected) => setOpened({ dialog: "fix", rejected })}
                  fixAll={() => setOpened({ dialog: "fix-all", group })}
                  discardAll={() => setOpened({ dialog: "discard", group })}
                />
              ))}
            </ul>
          )}
          {others > 0 && (
            <p className="text-faint text-xs">
              {countOf(others, "event")} more, rejected for other reasons,{" "}
              {others === 1 ? "appears" : "appear"} when some of these are resent or discarded.
            </p>
          )}
        </div>
      </div>
      {opened?.dialog === "fix" && <FixDialog rejected={opened.rejected} close={close} />}
      {opened?.dialog === "fix-all" && (
        <FixGroupDialog project={project} group={opened.group} close={close} />
      )}
      {opened?.dialog === "discard" && <DiscardDialog project={project} group={opened.group} close={close} />}
    </>
  );
}

function DiscardDialog({
  project,
  group,
  close,
}: {
  project: string;
  group: RejectedGroup;
  close: () => void;
}) {
  const discard = useDiscardGroup(project, group, close);
  return (
    <ConfirmDialog
      title={`Discard ${countOf(group.count, "event")}?`}
      action="Discard"
      mutation={discard}
      close={close}
    >
      They were rejected because: {group.reason} They can't be recovered.
    </ConfirmDialog>
  );
}
