import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { msOf } from "../event/event-query.ts";
import { createOverride } from "../on-call/overrides.ts";
import { listSchedules, listShifts } from "../on-call/schedules.ts";
import { listMembers } from "../projects/members.ts";
import { findProject } from "../projects/projects.ts";
import type { OnCallSchedule, OnCallShift } from "../schemas/on-call.ts";
import type { Store } from "../storage/store.ts";
import { secondsOf } from "../validation/duration.ts";
import { jsonArg, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

const dayMs = 24 * 60 * 60 * 1_000;

const schedule = {
  type: "positional",
  required: true,
  description: "The schedule, by name or ID",
  valueHint: "SCHEDULE",
} as const;

const list = defineCommand({
  meta: { name: "list", description: "List a project's on-call schedules, and who is on call now" },
  args: {
    project: projectArg,
    json: { type: "boolean", description: "Print each schedule as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id } = await findProject(control, args.project);
      const schedules = await listSchedules(control, id, Date.now());
      if (args.json) for (const each of schedules) console.log(JSON.stringify(each));
      else printTable([["SCHEDULE", "ON CALL", "UNTIL", "NEXT", "ID"], ...schedules.map(columnsOf)]);
    }),
});

const shifts = defineCommand({
  meta: { name: "shifts", description: "List who is on call in a schedule, from now on" },
  args: {
    schedule,
    project: projectArg,
    days: { type: "string", description: "For how many days", valueHint: "DAYS", default: "14" },
    json: { type: "boolean", description: "Print each shift as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const days = Number(args.days);
      if (!Number.isInteger(days) || days < 1 || days > limits.onCallShiftDays)
        throw new ArgumentError(`--days must be a whole number from 1 to ${limits.onCallShiftDays}.`);
      const { projectId, id } = await findByText(control, args.project, args.schedule);
      const fromMs = Date.now();
      const found = await listShifts(control, projectId, id, { fromMs, toMs: fromMs + days * dayMs });
      if (args.json) for (const each of found) console.log(JSON.stringify(each));
      else printTable([["FROM", "TO", "ON CALL"], ...found.map(columnsOfShift)]);
    }),
});

const override = defineCommand({
  meta: { name: "override", description: "Give a shift to a member, whatever the rotations say" },
  args: {
    schedule,
    project: projectArg,
    member: {
      type: "string",
      required: true,
      description: "The member's email address",
      valueHint: "ADDRESS",
    },
    for: { type: "string", required: true, description: "How long, such as 8h or 2d", valueHint: "T" },
    from: { type: "string", description: "When it begins (default: now)", valueHint: "TIME" },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { projectId, id, name } = await findByText(control, args.project, args.schedule);
      const members = await listMembers(control, projectId);
      const member = members.find(({ email }) => email === args.member.toLowerCase());
      if (!member) throw new UsageError(`The project has no member with the address "${args.member}".`);
      const nowMs = Date.now();
      const fromMs = args.from === undefined ? nowMs : msOf(args.from);
      if (Number.isNaN(fromMs))
        throw new ArgumentError(
          "--from must be an ISO 8601 time with an offset, such as 2026-12-24T18:00:00Z.",
        );
      const body = {
        member: member.id,
        from: new Date(fromMs).toISOString(),
        to: new Date(fromMs + secondsOf(args.for) * 1_000).toISOString(),
      };
      const author = { accountId: null, mayManage: true };
      const made = await makeChange(control, { actor: commandActor, projectId }, (change) =>
        createOverride(change, id, body, author, nowMs),
      );
      await report(
        args.json,
        made,
        `${made.member.name} is on call in "${name}" from ${made.from} to ${made.to}.`,
      );
    }),
});

export const onCallCommand = defineCommand({
  meta: { name: "on-call", description: "See who is on call, and change it for some hours" },
  subCommands: { list, shifts, override },
});

async function findByText(
  control: Store["control"],
  project: string,
  text: string,
): Promise<OnCallSchedule & { projectId: number }> {
  const { id: projectId, slug } = await findProject(control, project);
  const found = (await listSchedules(control, projectId, Date.now())).find(
    ({ id, name }) => id === text || name === text,
  );
  if (found) return { projectId, ...found };
  throw new UsageError(
    `The project "${slug}" has no on-call schedule "${text}". List them with: tidings on-call list --project ${slug}`,
  );
}

function columnsOf({ name, now, id }: OnCallSchedule): string[] {
  return [name, now.member?.name ?? "nobody", now.until ?? "", now.next?.name ?? "", id];
}

function columnsOfShift({ from, to, member }: OnCallShift): string[] {
  return [from, to, member?.name ?? "nobody"];
}
