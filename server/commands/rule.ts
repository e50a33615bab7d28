import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { findProject } from "../projects/projects.ts";
import { changeRule, createRule, deleteRule, listRules } from "../rules/rules.ts";
import { NewRule, type Rule } from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import { jsonArg, printResult, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { UsageError, withStore } from "./with-store.ts";

const rule = {
  type: "positional",
  required: true,
  description: "The rule, by ID or name",
  valueHint: "RULE",
} as const;

const list = defineCommand({
  meta: { name: "list", description: "List a project's rules, oldest first" },
  args: { project: projectArg, json: { type: "boolean", description: "Print each rule as a line of JSON" } },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const rules = await listRules(control, (await findProject(control, args.project)).id);
      if (args.json) for (const each of rules) console.log(JSON.stringify(each));
      else printTable([["RULE", "SEARCH", "WHEN", "STATE"], ...rules.map(columnsOf)]);
    }),
});

const create = defineCommand({
  meta: {
    name: "create",
    description:
      "Create a rule from JSON on standard input (docs/rules.md), and print its ID to standard output",
  },
  args: { project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const body = NewRule.safeParse(jsonOf(await Bun.stdin.text()));
      if (!body.success) {
        const { path, message } = body.error.issues[0]!;
        throw new UsageError(`${path.length === 0 ? "The rule" : path.join(".")} ${message}.`);
      }
      const { id: projectId } = await findProject(control, args.project);
      const by = { actor: commandActor, projectId };
      const rule = await makeChange(control, by, (change) => createRule(change, body.data));
      await printResult(args.json, rule, rule.id);
    }),
});

const enable = switchCommand("enable", true, "Turn a rule on");
const disable = switchCommand("disable", false, "Turn a rule off");

function switchCommand(name: string, enabled: boolean, description: string) {
  return defineCommand({
    meta: { name, description },
    args: { rule, project: projectArg, json: jsonArg },
    run: ({ args }) =>
      withStore(async ({ control }) => {
        const { projectId, id, name } = await findByText(control, args.project, args.rule);
        const by = { actor: commandActor, projectId };
        await makeChange(control, by, (change) => changeRule(change, id, { enabled }, null));
        await report(args.json, { id, name, enabled }, `The rule "${name}" is ${enabled ? "on" : "off"}.`);
      }),
  });
}

const remove = defineCommand({
  meta: { name: "delete", description: "Delete a rule" },
  args: { rule, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { projectId, id, name } = await findByText(control, args.project, args.rule);
      const by = { actor: commandActor, projectId };
      await makeChange(control, by, (change) => deleteRule(change, id));
      await report(args.json, { id, name }, `Deleted the rule "${name}".`);
    }),
});

export const ruleCommand = defineCommand({
  meta: { name: "rule", description: "Manage the rules that notify" },
  subCommands: { list, create, enable, disable, delete: remove },
});

async function findByText(
  control: Store["control"],
  project: string,
  text: string,
): Promise<Rule & { projectId: number }> {
  const { id: projectId, slug } = await findProject(control, project);
  const found = (await listRules(control, projectId)).filter(({ id, name }) => id === text || name === text);
  if (found.length === 1) return { projectId, ...found[0]! };
  throw new UsageError(
    found.length === 0
      ? `The project "${slug}" has no rule "${text}". List its rules with: tidings rule list --project ${slug}`
      : `Several rules are called "${text}". Use the ID: ${found.map(({ id }) => id).join(", ")}.`,
  );
}

function columnsOf({ name, q, when, enabled }: Rule): string[] {
  const { type, ...settings } = when;
  const values = Object.entries(settings).flatMap(([key, value]) =>
    value === null ? [] : [`${key}=${typeof value === "object" ? JSON.stringify(value) : value}`],
  );
  return [name, q === "" ? "(all)" : q, [type, ...values].join(" "), enabled ? "on" : "off"];
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError("Send the rule as JSON on standard input. docs/rules.md has examples.");
  }
}
