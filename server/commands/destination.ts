import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { baseUrlOf, readConfig } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { type DestinationKinds, destinationKinds, projectKinds } from "../notifications/kinds/index.ts";
import {
  addProjectDestination,
  deleteProjectDestination,
  listProjectDestinations,
  sendTest,
} from "../notifications/project-destinations.ts";
import { findProject } from "../projects/projects.ts";
import { listRules } from "../rules/rules.ts";
import { NewProjectDestination, type ProjectDestination } from "../schemas/destination.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { openSecretBox } from "../storage/secret-key.ts";
import type { Store } from "../storage/store.ts";
import { jsonArg, printResult, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

const destination = {
  type: "positional",
  required: true,
  description: "The destination, by ID or name",
  valueHint: "DESTINATION",
} as const;

/** Runs a command on the destinations of a project. */
function withDestinations(
  projectName: string,
  work: (context: {
    control: Store["control"];
    secrets: SecretBox;
    kinds: DestinationKinds;
    policy: { allowPrivate: boolean };
    baseUrl: string;
    projectId: number;
    slug: string;
    /** Its output ends up in logs. */
    isManager: false;
  }) => Promise<void>,
): Promise<void> {
  return withStore(async ({ control }) => {
    const config = readConfig();
    const { id: projectId, slug } = await findProject(control, projectName);
    await work({
      control,
      secrets: await openSecretBox(config, control),
      kinds: destinationKinds(),
      policy: { allowPrivate: config.allowPrivateAddresses },
      baseUrl: baseUrlOf(config),
      projectId,
      slug,
      isManager: false,
    });
  });
}

const list = defineCommand({
  meta: { name: "list", description: "List a project's destinations" },
  args: {
    project: projectArg,
    json: { type: "boolean", description: "Print each destination as a line of JSON" },
  },
  run: ({ args }) =>
    withDestinations(args.project, async (context) => {
      const destinations = await listProjectDestinations(context);
      if (args.json) for (const each of destinations) console.log(JSON.stringify(each));
      else printTable([["NAME", "KIND", "STATE", "LAST DELIVERED"], ...destinations.map(columnsOf)]);
    }),
});

const add = defineCommand({
  meta: {
    name: "add",
    description:
      "Add a destination. Its settings are read from standard input, as a JSON object. Prints a webhook's signing secret",
  },
  args: {
    project: projectArg,
    kind: {
      type: "string",
      required: true,
      description: `One of ${projectKinds.map(({ kind }) => kind).join(", ")}`,
      valueHint: "K",
    },
    name: { type: "string", required: true, description: "Its name", valueHint: "N" },
    rules: {
      type: "string",
      description: "The rules that are to notify it: names or IDs, with commas between them",
      valueHint: "R",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withDestinations(args.project, async (context) => {
      const { kind, name } = args;
      const rules = args.rules === undefined ? [] : await findRules(context, args.rules.split(","));
      const settings = await readSettings();
      const { data, error } = NewProjectDestination.safeParse({ kind, name, settings, rules });
      if (error) throw new ArgumentError(`--${error.issues[0]!.path.join(".")} ${error.issues[0]!.message}.`);
      const { destination, signingSecret } = await addProjectDestination(
        { ...context, actor: commandActor },
        data,
      );
      const added = { id: destination.id, kind, name, ...(signingSecret !== undefined && { signingSecret }) };
      const isUsed = rules.length > 0;
      const hint = isUsed ? "" : " It gets nothing until a rule names it.";
      await report(args.json, added, `Added the destination "${name}".${hint}`);
      if (!args.json && signingSecret !== undefined) console.log(signingSecret);
    }),
});

/** The ids of rules, which are named by ID or name. */
async function findRules(
  { control, projectId, slug }: { control: Store["control"]; projectId: number; slug: string },
  names: string[],
): Promise<string[]> {
  const rules = await listRules(control, projectId);
  return names.map((name) => {
    const found = rules.find((rule) => [rule.id, rule.name].includes(name.trim()));
    if (!found) throw new ArgumentError(`${slug} has no rule "${name.trim()}".`);
    return found.id;
  });
}

const test = defineCommand({
  meta: { name: "test", description: "Send a test message and print the service's answer" },
  args: { destination, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withDestinations(args.project, async (context) => {
      const { policy, projectId, slug } = context;
      const destinations = await listProjectDestinations(context);
      const { id } = find(destinations, args.destination, slug);
      const limited = { policy, timeoutMs: limits.destinationTestMs, nowMs: Date.now() };
      const outcome = await sendTest(context, projectId, id, limited);
      if (outcome.kind !== "delivered") throw new UsageError(outcome.detail);
      await printResult(args.json, { kind: outcome.kind, detail: outcome.detail }, outcome.detail);
    }),
});

const remove = defineCommand({
  meta: { name: "remove", description: "Delete a destination and cancel its waiting deliveries" },
  args: { destination, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withDestinations(args.project, async (context) => {
      const { control, projectId, slug } = context;
      const destinations = await listProjectDestinations(context);
      const { id, name } = find(destinations, args.destination, slug);
      await deleteProjectDestination({ control, projectId, actor: commandActor }, id);
      await report(args.json, { id, name }, `Deleted the destination "${name}".`);
    }),
});

export const destinationCommand = defineCommand({
  meta: { name: "destination", description: "Manage a project's destinations" },
  subCommands: { list, add, test, remove },
});

/** From standard input, because arguments would show secrets to everybody on the machine. */
async function readSettings(): Promise<unknown> {
  const text = await Bun.stdin.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(
      'Standard input must be the settings as a JSON object, such as {"url":"https://example.com/hook"}.',
    );
  }
}

function find(destinations: ProjectDestination[], text: string, slug: string): ProjectDestination {
  const found = destinations.find(({ id, name }) => id === text || name === text);
  if (found) return found;
  throw new UsageError(
    `The project "${slug}" has no destination "${text}". List them with: tidings destination list --project ${slug}`,
  );
}

function columnsOf({ name, kind, enabled, failingSince, deliveredAt }: ProjectDestination): string[] {
  const state = enabled ? (failingSince === null ? "on" : `failing since ${failingSince}`) : "off";
  return [name, kind, state, deliveredAt ?? "never"];
}
