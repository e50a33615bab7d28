import { defineCommand } from "citty";
import { acknowledgeAlert, listAlerts, resolveAlert } from "../alerts/alerts.ts";
import { commandActor } from "../audit/audit-log.ts";
import { type Change, makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { findProject } from "../projects/projects.ts";
import type { Alert } from "../schemas/alert.ts";
import { jsonArg, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { UsageError, withStore } from "./with-store.ts";

const alert = {
  type: "positional",
  required: true,
  description: "The alert, by ID or the name of its rule",
  valueHint: "ALERT",
} as const;

const list = defineCommand({
  meta: { name: "list", description: "List a project's open alerts, newest first" },
  args: {
    project: projectArg,
    all: { type: "boolean", description: "Also list those that are resolved" },
    json: { type: "boolean", description: "Print each alert as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id } = await findProject(control, args.project);
      const query = { limit: limits.pageItems, ...(!args.all && { state: "open" as const }) };
      const { alerts } = await listAlerts(control, id, query);
      if (args.json) for (const each of alerts) console.log(JSON.stringify(each));
      else printTable([["ALERT", "RULE", "STATE", "OPENED", "ID"], ...alerts.map(columnsOf)]);
    }),
});

const acknowledge = defineCommand({
  meta: { name: "acknowledge", description: "Say that you look after an alert, so that it notifies nobody" },
  args: {
    alert,
    project: projectArg,
    minutes: { type: "string", description: "Remind again after so many minutes", valueHint: "MINUTES" },
    json: jsonArg,
  },
  run: ({ args }) =>
    changeAlert(args, "acknowledged", (change, id) => acknowledgeAlert(change, id, minutesOf(args.minutes))),
});

const resolve = defineCommand({
  meta: { name: "resolve", description: "Resolve an alert" },
  args: { alert, project: projectArg, json: jsonArg },
  run: ({ args }) => changeAlert(args, "resolved", resolveAlert),
});

export const alertCommand = defineCommand({
  meta: { name: "alert", description: "List, acknowledge and resolve alerts" },
  subCommands: { list, acknowledge, resolve },
});

async function changeAlert(
  args: { alert: string; project: string; json?: boolean | undefined },
  done: string,
  change: (change: Change, id: string) => Promise<Alert>,
): Promise<void> {
  await withStore(async ({ control }) => {
    const { id: projectId, slug } = await findProject(control, args.project);
    const { alerts } = await listAlerts(control, projectId, { state: "open", limit: limits.rules });
    const found = alerts.find(({ id, rule }) => id === args.alert || rule.name === args.alert);
    if (!found)
      throw new UsageError(
        `The project "${slug}" has no open alert "${args.alert}". List them with: tidings alert list --project ${slug}`,
      );
    const by = { actor: commandActor, projectId };
    const changed = await makeChange(control, by, (each) => change(each, found.id));
    await report(args.json, changed, `The alert of "${found.rule.name}" is ${done}.`);
  });
}

function minutesOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const minutes = Number(text);
  if (Number.isInteger(minutes) && minutes >= 1 && minutes <= limits.acknowledgeMinutes) return minutes;
  throw new UsageError(`--minutes must be a whole number from 1 to ${limits.acknowledgeMinutes}.`);
}

function columnsOf({ title, rule, state, openedAt, id }: Alert): string[] {
  return [title, rule.name, state, openedAt, id];
}
