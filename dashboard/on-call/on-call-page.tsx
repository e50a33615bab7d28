import { useQuery } from "@tanstack/react-query";
import { PhoneCall } from "lucide-react";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { useListDialogs } from "../edits/use-list-dialogs.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage } from "../shell/list-page.tsx";
import { schedulesQuery } from "./on-call.ts";
import { ScheduleCard } from "./schedule-card.tsx";
import { DeleteScheduleDialog, EditScheduleDialog, NewScheduleDialog } from "./schedule-dialogs.tsx";

export function OnCallPage() {
  const project = useProjectSlug();
  const query = useQuery(schedulesQuery(project));
  const canManage = useCan()("on-call:manage");
  const { create, open, notes, dialog } = useListDialogs<OnCallSchedule, "remove">({
    kind: "on-call",
    noun: "schedule",
    nameOf: ({ name }) => name,
    canEdit: canManage,
    Create: NewScheduleDialog,
    dialogs: {
      edit: (schedule, close) => <EditScheduleDialog schedule={schedule} close={close} />,
      remove: (schedule, close) => <DeleteScheduleDialog schedule={schedule} close={close} />,
    },
  });
  return (
    <>
      <ListPage
        title="On call"
        intro="A schedule says who looks after alerts, by the week and the hour. Rules that name it notify whoever is on call."
        query={query}
        empty={{
          icon: <PhoneCall aria-hidden />,
          title: "No schedules yet",
          text: canManage
            ? "Create one, and let the rules that matter notify whoever is on call in it."
            : "Owners and admins can create schedules.",
        }}
        create={canManage && { label: "New schedule", open: create }}
        notes={notes}
        list={(schedules) =>
          schedules.map((schedule) => (
            <ScheduleCard key={schedule.id} schedule={schedule} edit={open("edit")} remove={open("remove")} />
          ))
        }
      />
      {dialog}
    </>
  );
}
