import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { baseUrlOf, readConfig } from "../config/config.ts";
import {
  changeHeartbeat,
  createHeartbeat,
  deleteHeartbeat,
  heartbeatOf,
  listHeartbeats,
} from "../heartbeats/heartbeats.ts";
import { findProject } from "../projects/projects.ts";
import { type Heartbeat, NewHeartbeat } from "../schemas/heartbeat.ts";
import { openSecretBox } from "../storage/secret-key.ts";
import type { Store } from "../storage/store.ts";
import { secondsOf } from "../validation/duration.ts";
import { jsonArg, printResult, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

const heartbeat = {
  type: "positional",
  required: true,
  description: "The heartbeat, by slug or ID",
  valueHint: "HEARTBEAT",
} as const;

const view = () => ({ nowMs: Date.now(), baseUrl: baseUrlOf(readConfig()) });

const list = defineCommand({
  meta: { name: "list", description: "List a project's heartbeats, oldest first" },
  args: {
    project: projectArg,
    json: { type: "boolean", description: "Print each heartbeat as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id: projectId } = await findProject(control, args.project);
      const heartbeats = await listHeartbeats(control, projectId, view());
      if (args.json) for (const each of heartbeats) console.log(JSON.stringify(each));
      else
        printTable([
          ["HEARTBEAT", "STATE", "SCHEDULE", "LAST PING", "NEXT DUE"],
          ...heartbeats.map(columnsOf),
        ]);
    }),
});

const create = defineCommand({
  meta: { name: "create", description: "Create a heartbeat, and print its address to standard output" },
  args: {
    name: { type: "positional", required: true, description: "Its name", valueHint: "NAME" },
    project: projectArg,
    every: {
      type: "string",
      description: "The time from one ping to the next, such as 5m or 1d",
      valueHint: "T",
    },
    cron: {
      type: "string",
      description: "The times at which cron runs the job, in place of --every",
      valueHint: "EXPRESSION",
    },
    "time-zone": {
      type: "string",
      description: "The time zone of --cron, such as Europe/Berlin",
      valueHint: "ZONE",
      default: "UTC",
    },
    grace: { type: "string", description: "How much later a ping may come", valueHint: "T", default: "1h" },
    max: { type: "string", description: "How long a run may take after its start", valueHint: "T" },
    channel: {
      type: "string",
      description: "The channel of its events",
      valueHint: "C",
      default: "heartbeats",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      if ((args.every === undefined) === (args.cron === undefined))
        throw new ArgumentError("Give either --every or --cron.");
      const body = NewHeartbeat.safeParse({
        name: args.name,
        channel: args.channel,
        schedule:
          args.cron === undefined
            ? { type: "period", minutes: minutesOf("--every", args.every!) }
            : { type: "cron", expression: args.cron, timeZone: args["time-zone"] },
        graceMinutes: minutesOf("--grace", args.grace),
        maxMinutes: args.max === undefined ? null : minutesOf("--max", args.max),
      });
      if (!body.success) {
        const { path, message } = body.error.issues[0]!;
        throw new ArgumentError(`The heartbeat's ${String(path.at(-1))} ${message}.`);
      }
      const { id: projectId } = await findProject(control, args.project);
      const config = readConfig();
      const secrets = await openSecretBox(config, control);
      const by = { actor: commandActor, projectId };
      const { row, token } = await makeChange(control, by, (change) =>
        createHeartbeat(change, secrets, body.data),
      );
      const url = `${baseUrlOf(config)}/ping/${token}`;
      await printResult(args.json, { ...heartbeatOf(row, view()), url }, url);
    }),
});

const pause = switchCommand("pause", false, "Pause a heartbeat");
const resume = switchCommand("resume", true, "Resume a heartbeat: it begins anew");

function switchCommand(name: string, enabled: boolean, description: string) {
  return defineCommand({
    meta: { name, description },
    args: { heartbeat, project: projectArg, json: jsonArg },
    run: ({ args }) =>
      withStore(async ({ control }) => {
        const { projectId, id, name, slug } = await findByText(control, args.project, args.heartbeat);
        const by = { actor: commandActor, projectId };
        await makeChange(control, by, (change) => changeHeartbeat(change, id, { enabled }, null, view()));
        const sentence = `The heartbeat "${name}" is ${enabled ? "resumed" : "paused"}.`;
        await report(args.json, { id, slug, enabled }, sentence);
      }),
  });
}

const remove = defineCommand({
  meta: { name: "delete", description: "Delete a heartbeat and its pings" },
  args: { heartbeat, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { projectId, id, name, slug } = await findByText(control, args.project, args.heartbeat);
      const by = { actor: commandActor, projectId };
      await makeChange(control, by, (change) => deleteHeartbeat(change, id));
      await report(args.json, { id, slug }, `Deleted the heartbeat "${name}".`);
    }),
});

export const heartbeatCommand = defineCommand({
  meta: { name: "heartbeat", description: "Manage the heartbeats of jobs" },
  subCommands: { list, create, pause, resume, delete: remove },
});

async function findByText(
  control: Store["control"],
  project: string,
  text: string,
): Promise<Heartbeat & { projectId: number }> {
  const { id: projectId, slug: projectSlug } = await findProject(control, project);
  const heartbeats = await listHeartbeats(control, projectId, view());
  const found = heartbeats.find(({ id, slug }) => id === text || slug === text);
  if (found) return { projectId, ...found };
  throw new UsageError(
    `The project "${projectSlug}" has no heartbeat "${text}". List them with: tidings heartbeat list --project ${projectSlug}`,
  );
}

function columnsOf({ slug, state, reason, schedule, lastPingAt, nextDueAt }: Heartbeat): string[] {
  const when =
    schedule.type === "period"
      ? `every ${schedule.minutes} min`
      : `${schedule.expression} ${schedule.timeZone}`;
  return [
    slug,
    reason === null ? state : `${state}: ${reason}`,
    when,
    lastPingAt ?? "never",
    nextDueAt ?? "",
  ];
}

/** Throws `ArgumentError` for what is no duration of whole minutes. */
function minutesOf(option: string, duration: string): number {
  const minutes = secondsOf(duration) / 60;
  if (Number.isInteger(minutes)) return minutes;
  throw new ArgumentError(`${option} must be a number of minutes, hours or days, such as 30m, 12h or 1d.`);
}
