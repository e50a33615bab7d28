import { useQuery } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { useMe } from "../account/me.ts";
import { formatDate } from "../components/dates.ts";
import { markColors } from "../components/marks.ts";
import { Button } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { dayStart, zone } from "../components/zone.ts";
import { membersQuery } from "../members/members.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { shiftsQuery } from "./on-call.ts";
import { nameIn, rotationText } from "./on-call-form.ts";
import { OverrideList } from "./override-list.tsx";
import { ShiftList } from "./shift-list.tsx";
import { ShiftStrip } from "./shift-strip.tsx";
import { TakeShiftDialog } from "./take-shift-dialog.tsx";

const weeks = 2;
const hourMs = 3_600_000;
/** How long a shift is that somebody takes where nobody follows. */
const shiftMs = 8 * hourMs;

type Props = {
  schedule: OnCallSchedule;
  edit: (schedule: OnCallSchedule) => void;
  remove: (schedule: OnCallSchedule) => void;
};

/** A schedule: who is on call now, and in the next two weeks. */
export function ScheduleCard({ schedule, edit, remove }: Props) {
  const project = useProjectSlug();
  const can = useCan();
  const { account } = useMe();
  const { data: members = [] } = useQuery(membersQuery(project));
  const nowMs = Date.now();
  const fromMs = dayStart(nowMs);
  const range = { fromMs, toMs: dayStart(nowMs, weeks * 7) };
  const { data: shifts } = useQuery(shiftsQuery(project, schedule.id, range));
  const [taken, setTaken] = useState<{ fromMs: number; toMs: number } | null>(null);
  const { id, name, timeZone, rotations, now } = schedule;
  // Those of overrides come last.
  const inOrder = [
    ...new Set([
      ...rotations.flatMap((rotation) => rotation.members),
      ...(shifts ?? []).flatMap(({ member }) => member?.id ?? []),
    ]),
  ];
  const nameOf = nameIn(members);
  const canTake = can("on-call:take");
  return (
    <article
      aria-labelledby={`on-call-${id}`}
      className="flex flex-col gap-4 rounded-lg border border-line bg-raised p-4"
    >
      <div className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1">
          <h2 id={`on-call-${id}`} className="hostile font-semibold text-lg">
            {name}
          </h2>
          <OnCallNow now={now} />
        </div>
        <div className="flex items-center gap-1">
          {canTake && (
            <Button
              onClick={() =>
                setTaken({
                  fromMs: nowMs,
                  toMs: now.until === null ? nowMs + shiftMs : Date.parse(now.until),
                })
              }
            >
              {can("on-call:manage") ? "Override" : "Take a shift"}
            </Button>
          )}
          {can("on-call:manage") && (
            <RowMenu
              name={name}
              actions={[
                { label: "Edit…", icon: Pencil, onSelect: () => edit(schedule) },
                { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(schedule) },
              ]}
            />
          )}
        </div>
      </div>
      {shifts ? (
        <>
          <ShiftStrip
            shifts={shifts}
            fromMs={fromMs}
            rows={weeks}
            nowMs={nowMs}
            colorOf={(memberId) => `var(--mark-${(Math.max(0, inOrder.indexOf(memberId)) % markColors) + 1})`}
          />
          <ShiftList
            shifts={shifts.filter(({ to }) => Date.parse(to) > nowMs)}
            accountId={account.id}
            take={canTake ? setTaken : undefined}
          />
        </>
      ) : (
        <Skeleton className="h-32" />
      )}
      <OverrideList schedule={schedule} />
      <p className="hostile text-faint text-xs">
        {rotations.length === 0
          ? "Nobody is left in its rotations."
          : rotations.map((rotation) => rotationText(rotation, nameOf)).join(" · ")}
        {timeZone !== zone() && ` (times of ${timeZone})`}
      </p>
      {taken && (
        <TakeShiftDialog
          schedule={schedule}
          range={{ ...taken, fromMs: Math.max(taken.fromMs, nowMs) }}
          close={() => setTaken(null)}
        />
      )}
    </article>
  );
}

function OnCallNow({ now: { member, until, next } }: Pick<OnCallSchedule, "now">) {
  const after = until && (
    <>
      {" "}
      until <time dateTime={until}>{formatDate(until, "soon")}</time>
    </>
  );
  return (
    <p className="hostile text-sm">
      {member ? (
        <>
          <span className="font-medium">{member.name}</span> is on call{after}.
        </>
      ) : (
        <span className="text-danger">
          Nobody is on call{after}. Rules notify the owners and admins meanwhile.
        </span>
      )}
      {next && <span className="text-muted"> {next.name} is next.</span>}
    </p>
  );
}
