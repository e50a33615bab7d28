import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { type Change, makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { findProject } from "../projects/projects.ts";
import { listRules } from "../rules/rules.ts";
import { NewSilence, type Silence } from "../schemas/silence.ts";
import { createSilence, deleteSilence, endSilence, listSilences } from "../silences/silences.ts";
import type { Store } from "../storage/store.ts";
import { secondsOf } from "../validation/duration.ts";
import { jsonArg, printResult, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

const silence = {
  type: "positional",
  required: true,
  description: "The silence, by ID or reason",
  valueHint: "SILENCE",
} as const;

const list = defineCommand({
  meta: { name: "list", description: "List a project's silences that have not ended, newest first" },
  args: {
    project: projectArg,
    all: { type: "boolean", description: "Also list those that have ended" },
    json: { type: "boolean", description: "Print each silence as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id } = await findProject(control, args.project);
      const { silences } = await listSilences(control, id, { limit: limits.pageItems }, Date.now());
      const listed = silences.filter(({ state }) => args.all || state !== "ended");
      if (args.json) for (const each of listed) console.log(JSON.stringify(each));
      else printTable([["SILENCE", "STATE", "FROM", "TO", "ID"], ...listed.map(columnsOf)]);
    }),
});

const create = defineCommand({
  meta: { name: "create", description: "Plan a silence, and print its ID to standard output" },
  args: {
    reason: { type: "positional", required: true, description: "Why", valueHint: "REASON" },
    project: projectArg,
    for: { type: "string", description: "How long it lasts, such as 30m or 4h", valueHint: "T" },
    to: { type: "string", description: "When it ends, in place of --for", valueHint: "TIME" },
    from: { type: "string", description: "When it begins, in ISO 8601 (default: now)", valueHint: "TIME" },
    q: {
      type: "string",
      description: "The search of the events that it covers",
      valueHint: "SEARCH",
      default: "",
    },
    rule: { type: "string", description: "The rule that it covers, by name or ID", valueHint: "RULE" },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      if ((args.for === undefined) === (args.to === undefined))
        throw new ArgumentError("Give either --for or --to.");
      const { id: projectId } = await findProject(control, args.project);
      const nowMs = Date.now();
      const body = NewSilence.safeParse({
        reason: args.reason,
        q: args.q,
        rules: args.rule === undefined ? [] : [await ruleIdOf(control, projectId, args.rule)],
        ...(args.from !== undefined && { from: args.from }),
        to: args.to ?? endOf(args.from, args.for!, nowMs),
      });
      if (!body.success) {
        const { path, message } = body.error.issues[0]!;
        throw new ArgumentError(`The silence's ${String(path.at(-1))} ${message}.`);
      }
      const by = { actor: commandActor, projectId };
      const created = await makeChange(control, by, (change) => createSilence(change, body.data, nowMs));
      await printResult(args.json, created, created.id);
    }),
});

const end = defineCommand({
  meta: { name: "end", description: "End a silence now" },
  args: { silence, project: projectArg, json: jsonArg },
  run: ({ args }) => changeSilence(args, "ended", endSilence),
});

const remove = defineCommand({
  meta: { name: "delete", description: "Delete a silence that has not begun" },
  args: { silence, project: projectArg, json: jsonArg },
  run: ({ args }) => changeSilence(args, "deleted", deleteSilence),
});

export const silenceCommand = defineCommand({
  meta: { name: "silence", description: "Plan times in which nobody is notified" },
  subCommands: { list, create, end, delete: remove },
});

async function changeSilence(
  args: { silence: string; project: string; json?: boolean | undefined },
  done: string,
  change: (change: Change, id: string, nowMs: number) => Promise<Silence>,
): Promise<void> {
  await withStore(async ({ control }) => {
    const { id: projectId, slug } = await findProject(control, args.project);
    const nowMs = Date.now();
    const { silences } = await listSilences(control, projectId, { limit: limits.pageItems }, nowMs);
    const found = silences.find(
      ({ id, reason, state }) => id === args.silence || (reason === args.silence && state !== "ended"),
    );
    if (!found)
      throw new UsageError(
        `The project "${slug}" has no silence "${args.silence}". List them with: tidings silence list --project ${slug}`,
      );
    const by = { actor: commandActor, projectId };
    const changed = await makeChange(control, by, (each) => change(each, found.id, nowMs));
    await report(args.json, changed, `The silence "${found.reason}" is ${done}.`);
  });
}

async function ruleIdOf(control: Store["control"], projectId: number, text: string): Promise<string> {
  const rules = await listRules(control, projectId);
  const found = rules.find(({ id, name }) => id === text || name === text);
  if (found) return found.id;
  throw new UsageError(`The project has no rule "${text}". List them with: tidings rule list`);
}

/** Throws `ArgumentError` for what is no duration. */
function endOf(from: string | undefined, duration: string, nowMs: number): string {
  const endMs = Math.max(from === undefined ? nowMs : Date.parse(from), nowMs) + secondsOf(duration) * 1_000;
  if (!Number.isNaN(endMs)) return new Date(endMs).toISOString();
  throw new ArgumentError("--for must be a length such as 30m, 4h or 1d, and --from a time in ISO 8601.");
}

function columnsOf({ reason, state, from, to, id }: Silence): string[] {
  return [reason, state, from, to, id];
}
