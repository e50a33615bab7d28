import type { Member } from "../../server/schemas/member.ts";
import type { NewOnCallSchedule, OnCallRotation, OnCallSchedule } from "../../server/schemas/on-call.ts";
import { formatTimeOfDay } from "../components/dates.ts";
import { dayText, weekStart } from "../components/zone.ts";
import { type Part, part } from "../edits/differences.ts";
import { type Weekday, weekdays } from "../rules/rule-form.ts";
import { describeQuietHours } from "../settings/schedule-text.ts";

/** The fields of a rotation. Numbers are texts, as they are typed. */
export type RotationForm = {
  members: string[];
  every: string;
  unit: OnCallRotation["unit"];
  at: string;
  startsOn: string;
  /** Whether it covers only the hours of `days`, `from` and `to`. */
  isLimited: boolean;
  days: Weekday[];
  from: string;
  to: string;
};

/** The fields of the form for a schedule. */
export type ScheduleForm = { name: string; timeZone: string; rotations: RotationForm[]; notify: boolean };

export function newRotation(): RotationForm {
  return {
    members: [],
    every: "1",
    unit: "week",
    at: "09:00",
    startsOn: dayText(weekStart(Date.now())),
    isLimited: false,
    days: weekdays.slice(0, 5),
    from: "09:00",
    to: "17:00",
  };
}

export function newScheduleForm(): ScheduleForm {
  return {
    name: "",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    rotations: [newRotation()],
    notify: true,
  };
}

export function formOf({ name, timeZone, rotations, notify }: OnCallSchedule): ScheduleForm {
  return {
    name,
    timeZone,
    notify,
    rotations: rotations.map(({ every, hours, ...rotation }) => ({
      ...newRotation(),
      ...rotation,
      every: String(every),
      isLimited: hours !== null,
      ...hours,
    })),
  };
}

export function scheduleOf({ name, timeZone, rotations, notify }: ScheduleForm): NewOnCallSchedule {
  return { name: name.trim(), timeZone, rotations: rotations.map(rotationOf), notify };
}

function rotationOf(form: RotationForm): OnCallRotation {
  const { members, every, unit, at, startsOn, isLimited, days, from, to } = form;
  return {
    members,
    every: Number(every),
    unit,
    at,
    startsOn,
    hours: isLimited ? { days, from, to } : null,
  };
}

/** Finds the names of members. */
export function nameIn(members: readonly Member[]): (id: string) => string {
  return (id) => {
    const found = members.find((member) => member.id === id);
    return found ? found.name || found.email : "…";
  };
}

/** The parts of a schedule, for when two people have changed it. */
export function scheduleParts(members: readonly Member[]): Part<ScheduleForm>[] {
  const nameOf = nameIn(members);
  return [
    part("Name", ["name"], ({ name }) => name),
    part("Time zone", ["timeZone"], ({ timeZone }) => timeZone),
    part("Rotations", ["rotations"], ({ rotations }) =>
      rotations.map((each) => rotationText(rotationOf(each), nameOf)).join("; "),
    ),
    part("Tell members", ["notify"], ({ notify }) => (notify ? "Yes" : "No")),
  ];
}

/** "Ada, Bob: 1 week each, from 09:00 to 17:00, Monday to Friday" */
export function rotationText(
  { members, every, unit, at, hours }: OnCallRotation,
  nameOf: (id: string) => string,
): string {
  const turn = every === 1 ? `a ${unit}` : `${every} ${unit}s`;
  const names = members.map(nameOf).join(", ");
  const turns = members.length === 1 ? names : `${names}: ${turn} each, from ${formatTimeOfDay(at)}`;
  return hours === null ? turns : `${turns}; ${describeQuietHours(hours)}`;
}
