import type { Heartbeat, HeartbeatSchedule, NewHeartbeat } from "../../server/schemas/heartbeat.ts";
import { type Part, part } from "../edits/differences.ts";
import { durationText, minutesOf, type Unit, unitOf } from "../rules/rules.ts";
import { scheduleText } from "./heartbeats.ts";

/** A length of time as it is typed. */
export type Length = { amount: string; unit: Unit };

/** The fields of the form for a heartbeat. */
export type HeartbeatForm = {
  name: string;
  channel: string;
  type: HeartbeatSchedule["type"];
  period: Length;
  expression: string;
  timeZone: string;
  grace: Length;
  isLimited: boolean;
  max: Length;
};

export function newHeartbeatForm(): HeartbeatForm {
  return {
    name: "",
    channel: "heartbeats",
    type: "period",
    period: { amount: "1", unit: "days" },
    expression: "30 2 * * *",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    grace: { amount: "1", unit: "hours" },
    isLimited: false,
    max: { amount: "30", unit: "minutes" },
  };
}

export function formOf({ name, channel, schedule, graceMinutes, maxMinutes }: Heartbeat): HeartbeatForm {
  const form = newHeartbeatForm();
  return {
    ...form,
    name,
    channel,
    type: schedule.type,
    ...(schedule.type === "period"
      ? { period: lengthOf(schedule.minutes) }
      : { expression: schedule.expression, timeZone: schedule.timeZone }),
    grace: lengthOf(graceMinutes),
    isLimited: maxMinutes !== null,
    max: maxMinutes === null ? form.max : lengthOf(maxMinutes),
  };
}

/** The schedule; null while a field is empty. */
export function scheduleOf({ type, period, expression, timeZone }: HeartbeatForm): HeartbeatSchedule | null {
  if (type === "cron")
    return expression.trim() === "" ? null : { type, expression: expression.trim(), timeZone };
  const minutes = minutesIn(period);
  return minutes > 0 ? { type, minutes } : null;
}

export function heartbeatOf(form: HeartbeatForm): Pick<
  NewHeartbeat,
  "name" | "channel" | "graceMinutes" | "maxMinutes"
> & {
  schedule: HeartbeatSchedule | null;
} {
  const { name, channel, grace, isLimited, max } = form;
  return {
    name: name.trim(),
    channel: channel.trim(),
    schedule: scheduleOf(form),
    graceMinutes: minutesIn(grace),
    maxMinutes: isLimited ? minutesIn(max) : null,
  };
}

/** The parts of a heartbeat, for when two people have changed it. */
export const heartbeatParts: Part<HeartbeatForm>[] = [
  part("Name", ["name"], ({ name }) => name),
  part("Channel", ["channel"], ({ channel }) => channel),
  part("Schedule", ["type", "period", "expression", "timeZone"], (form) => {
    const schedule = scheduleOf(form);
    return schedule ? scheduleText(schedule) : "Incomplete";
  }),
  part("Grace", ["grace"], ({ grace }) => durationText(minutesIn(grace))),
  part("Longest run", ["isLimited", "max"], ({ isLimited, max }) =>
    isLimited ? durationText(minutesIn(max)) : "No limit",
  ),
];

function lengthOf(minutes: number): Length {
  const unit = minutes === 0 ? "minutes" : unitOf(minutes);
  return { amount: String(minutes / minutesOf[unit]), unit };
}

function minutesIn({ amount, unit }: Length): number {
  return Number(amount) * minutesOf[unit];
}
