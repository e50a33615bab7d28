import "../validation/messages.ts";
import { defineCommand } from "citty";
import type { z } from "zod";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createKey, listKeys, revokeKey, rotateKey } from "../auth/keys.ts";
import { findProject } from "../projects/projects.ts";
import { type Key, KeyRotation, NewKey } from "../schemas/key.ts";
import type { Store } from "../storage/store.ts";
import { jsonArg, printMessage, printResult, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

const dayMs = 24 * 60 * 60 * 1_000;

const key = {
  type: "positional",
  required: true,
  description: "The key, by ID, name or last four characters",
  valueHint: "KEY",
} as const;

const create = defineCommand({
  meta: { name: "create", description: "Create an API key and print it to standard output" },
  args: {
    project: projectArg,
    name: { type: "string", required: true, description: "What the key is for", valueHint: "N" },
    scopes: {
      type: "string",
      description:
        "What a secret key may do, separated by commas: ingest, read, manage (default: ingest,read)",
      valueHint: "S",
    },
    publishable: { type: "boolean", description: "Make a key for web pages, which only sends events" },
    origins: {
      type: "string",
      description: "Origins of the pages that may use a publishable key, separated by commas (default: all)",
      valueHint: "O",
    },
    expires: {
      type: "string",
      description: "When it expires: after some days (90d) or at a time (2030-01-31) (default: never)",
      valueHint: "T",
    },
    rate: {
      type: "string",
      description: "Events a second (default: unlimited, or 50 for a publishable key)",
      valueHint: "R",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const body = parsed(NewKey, {
        name: args.name,
        ...(args.publishable && { kind: "publishable" }),
        ...(args.scopes !== undefined && { scopes: args.scopes.split(",") }),
        ...(args.origins !== undefined && { origins: args.origins.split(",") }),
        ...(args.expires !== undefined && { expiresAt: timeOf(args.expires) }),
        ...(args.rate !== undefined && { eventsPerSecond: Number(args.rate) }),
      });
      const { id: projectId } = await findProject(control, args.project);
      const created = await makeChange(control, { actor: commandActor, projectId }, (change) =>
        createKey(change, body),
      );
      await printResult(args.json, { ...created.key, secret: created.secret }, created.secret);
    }),
});

const list = defineCommand({
  meta: { name: "list", description: "List a project's API keys, newest first" },
  args: {
    project: projectArg,
    json: { type: "boolean", description: "Print each key as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const keys = await listKeys(control, (await findProject(control, args.project)).id);
      if (args.json) for (const each of keys) console.log(JSON.stringify(each));
      else printTable([["KEY", "NAME", "SCOPES", "STATE", "LAST USED"], ...keys.map(columnsOf)]);
    }),
});

const rotate = defineCommand({
  meta: { name: "rotate", description: "Replace an API key and print the new one to standard output" },
  args: {
    key,
    project: projectArg,
    "overlap-hours": {
      type: "string",
      description: "How long the old key stays valid, 0 to 168 (default: 24)",
      valueHint: "H",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const overlap = args["overlap-hours"];
      const body = parsed(KeyRotation, { ...(overlap !== undefined && { overlapHours: Number(overlap) }) });
      const { projectId, id } = await findKey(control, args.project, args.key);
      const { secret, key, replaced } = await makeChange(
        control,
        { actor: commandActor, projectId },
        (change) => rotateKey(change, id, body),
      );
      if (!args.json) printMessage(`The old key is valid until ${replaced.expiresAt}.`);
      await printResult(args.json, { ...key, secret, oldKeyExpiresAt: replaced.expiresAt }, secret);
    }),
});

const revoke = defineCommand({
  meta: { name: "revoke", description: "Revoke an API key" },
  args: { key, project: projectArg, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { projectId, id, name, ending } = await findKey(control, args.project, args.key);
      await makeChange(control, { actor: commandActor, projectId }, (change) => revokeKey(change, id));
      await report(args.json, { id, name, ending }, `Revoked the key "${name}" (…${ending}).`);
    }),
});

export const keyCommand = defineCommand({
  meta: { name: "key", description: "Manage API keys" },
  subCommands: { create, list, rotate, revoke },
});

/** Finds one of a project's keys that are not revoked. */
async function findKey(
  control: Store["control"],
  project: string,
  text: string,
): Promise<{ projectId: number; id: string; name: string; ending: string }> {
  const { id: projectId, slug } = await findProject(control, project);
  const keys = (await listKeys(control, projectId)).filter(({ revokedAt }) => revokedAt === null);
  const found = keys.filter(({ id, name, ending }) => [id, name, ending].includes(text));
  if (found.length === 1) return { projectId, ...found[0]! };
  throw new UsageError(
    found.length === 0
      ? `The project "${slug}" has no key "${text}". List its keys with: tidings key list --project ${slug}`
      : `Several keys match "${text}". Use the last four characters or the ID: ${found.map(({ ending, id }) => `${ending} ${id}`).join(", ")}.`,
  );
}

function columnsOf({ kind, ending, name, scopes, revokedAt, expiresAt, lastUsedAt }: Key): string[] {
  const state = revokedAt
    ? `revoked ${revokedAt}`
    : expiresAt
      ? `${Date.parse(expiresAt) > Date.now() ? "expires" : "expired"} ${expiresAt}`
      : "valid";
  return [
    `tdg_${kind === "secret" ? "sk" : "pk"}_…${ending}`,
    name,
    scopes.join(","),
    state,
    lastUsedAt ?? "never",
  ];
}

/** The options of a command, by the field that each becomes. */
const options: Record<string, string> = {
  expiresAt: "expires",
  eventsPerSecond: "rate",
  overlapHours: "overlap-hours",
};

function parsed<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  const field = String(path[0]);
  throw new ArgumentError(`--${options[field] ?? field} ${message}.`);
}

/** A number of days from now, a day or a time, as ISO 8601. What is none of these is left for the schema to reject. */
function timeOf(text: string): string {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const time = days === undefined ? Date.parse(text) : Date.now() + Number(days) * dayMs;
  return Number.isNaN(time) ? text : new Date(time).toISOString();
}
