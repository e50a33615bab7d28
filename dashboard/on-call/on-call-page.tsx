import { useQuery } from "@tanstack/react-query";
import { PhoneCall } from "lucide-react";
import { useState } from "react";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { DraftNote, useDrafts } from "../edits/draft-note.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { ListPage, useItemDialog } from "../shell/list-page.tsx";
import { schedulesQuery } from "./on-call.ts";
import type { ScheduleForm } from "./on-call-form.ts";
import { ScheduleCard } from "./schedule-card.tsx";
import { DeleteScheduleDialog, EditScheduleDialog, NewScheduleDialog } from "./schedule-dialogs.tsx";

/** Dialogs for a schedule. */
const dialogs = { edit: EditScheduleDialog, remove: DeleteScheduleDialog };

export function OnCallPage() {
  const project = useProjectSlug();
  const query = useQuery(schedulesQuery(project));
  const canManage = useCan()("on-call:manage");
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<OnCallSchedule, keyof typeof dialogs>();
  const Opened = opened && dialogs[opened.name];
  const { drafts, update, discard } = useDrafts<OnCallSchedule, ScheduleForm>("on-call");
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
        create={canManage && { label: "New schedule", open: () => setCreating(true) }}
        notes={
          canManage &&
          !opened &&
          !creating &&
          drafts.map(({ key, base, form, ...draft }) => (
            <DraftNote
              key={key}
              of={base ? `the schedule ${base.name}` : "a new schedule"}
              draft={draft}
              resume={() => (base ? open("edit")(base) : setCreating(true))}
              discard={() => discard(key)}
            />
          ))
        }
        list={(schedules) =>
          schedules.map((schedule) => (
            <ScheduleCard key={schedule.id} schedule={schedule} edit={open("edit")} remove={open("remove")} />
          ))
        }
      />
      {creating && (
        <NewScheduleDialog
          close={() => {
            setCreating(false);
            update();
          }}
        />
      )}
      {Opened && (
        <Opened
          key={opened.item.id}
          schedule={opened.item}
          close={() => {
            close();
            update();
          }}
        />
      )}
    </>
  );
}
