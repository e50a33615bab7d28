import type { z } from "@hono/zod-openapi";
import { type Fault, type ProblemError, pointerTo, problem } from "../core/problems.ts";
import type { FormField, ProjectDestination } from "../schemas/destination.ts";
import { nearest } from "../validation/nearest.ts";
import type { DestinationRow, Settings } from "./destinations.ts";
import { formOf } from "./kinds/form.ts";
import { projectKinds } from "./kinds/index.ts";
import { type DestinationKind, settingMeta } from "./kinds/kind.ts";
import { AddressRefused, checkAddress, type OutboundPolicy } from "./outbound.ts";

/** The kind of a stored destination of a project. */
export function kindOf({ kind }: Pick<DestinationRow, "kind">): DestinationKind {
  const found = projectKinds.find((each) => each.kind === kind);
  if (!found) throw new Error(`There is no kind of destination called ${kind}.`);
  return found;
}

/**
 * What of a destination's settings may be shown: of secrets, the ending.
 *
 * @param isManager - whether it is shown to somebody who may read what is readable
 */
export function showSettings(
  { settings: schema }: DestinationKind,
  settings: Settings,
  isManager: boolean,
): Pick<ProjectDestination, "settings" | "secrets"> {
  const shown = Object.entries(settings).filter(([name]) => !metaOf(schema, name).internal);
  const isSecret = ([name]: [string, unknown]) => {
    const { secret = false, readable = false } = metaOf(schema, name);
    return secret && !(readable && isManager);
  };
  return {
    settings: Object.fromEntries(shown.filter((entry) => !isSecret(entry))),
    secrets: Object.fromEntries(
      shown.filter(isSecret).map(([name, value]) => [name, endingOf(String(value))]),
    ),
  };
}

function metaOf(schema: z.ZodObject, name: string): z.GlobalMeta {
  const field = schema.shape[name] as z.ZodType | undefined;
  return field ? settingMeta(field) : { internal: true };
}

/** Shorter secrets have no ending to show: it would be too large a part of them. */
const secretWithEndingMin = 16;

function endingOf(secret: string): string {
  const url = URL.parse(secret);
  const hidden = url?.host ? url.pathname + url.search : secret;
  return hidden.length >= secretWithEndingMin ? hidden.slice(-4) : "";
}

/** Throws `body-invalid`. */
export function findKind(name: string): DestinationKind {
  const found = projectKinds.find(({ kind }) => kind === name);
  if (found) return found;
  const known = projectKinds.map(({ kind }) => kind);
  const meant = nearest(name, known);
  const hint = meant === null ? `It must be one of ${known.join(", ")}.` : `Did you mean "${meant}"?`;
  throw invalid([{ pointer: "/kind", detail: `There is no such kind of destination. ${hint}` }]);
}

/** Checks what was entered, and completes it with defaults. Throws `body-invalid`. */
export function checkSettings(
  { settings: schema }: DestinationKind,
  entered: Settings,
  policy: OutboundPolicy,
): Settings {
  const fields = formOf(schema);
  const { data, error } = schema.safeParse(entered);
  const faults = [
    ...unknownSettings(fields, entered),
    ...(error?.issues ?? []).flatMap((issue) => faultsOf(issue, entered)),
    ...(data ? addressFaults(fields, data, policy) : []),
  ];
  if (faults.length > 0) throw invalid(faults);
  return data!;
}

/** Settings after a change: what is left out stays, `null` removes. Throws `body-invalid`. */
export function changeSettings(
  kind: DestinationKind,
  before: Settings,
  entered: Settings,
  policy: OutboundPolicy,
): Settings {
  const fields = formOf(kind.settings);
  const unknown = unknownSettings(fields, entered);
  if (unknown.length > 0) throw invalid(unknown);
  const isField = ([name]: [string, unknown]) => fields.some((field) => field.name === name);
  const merged = Object.entries({ ...before, ...entered }).filter(
    (entry) => isField(entry) && entry[1] !== null,
  );
  const settings = checkSettings(kind, Object.fromEntries(merged), policy);
  const faults = keptSecretFaults(fields, before, settings, entered);
  if (faults.length > 0) throw invalid(faults);
  const internal = Object.entries(before).filter((entry) => !isField(entry));
  return { ...settings, ...Object.fromEntries(internal) };
}

/**
 * A secret that nobody can read must not be sent to another server either, so whoever changes the server enters it
 * again.
 */
function keptSecretFaults(
  fields: FormField[],
  before: Settings,
  after: Settings,
  entered: Settings,
): Fault[] {
  const hasMoved = fields.some(
    ({ name, type, secret }) => type === "url" && !secret && originOf(before[name]) !== originOf(after[name]),
  );
  const kept = fields.filter(({ name, secret }) => secret && name in after && !(name in entered));
  return (hasMoved ? kept : []).map(({ name, title }) => ({
    pointer: pointerTo("settings", name),
    detail: `"${title}" must be entered again, because the server changes.`,
  }));
}

function addressFaults(fields: FormField[], settings: Settings, policy: OutboundPolicy): Fault[] {
  const addresses = fields.filter(({ name, type }) => type === "url" && name in settings);
  return addresses.flatMap(({ name }): Fault[] => {
    const pointer = pointerTo("settings", name);
    try {
      const { username, password } = checkAddress(String(settings[name]), policy);
      if (username === "" && password === "") return [];
      return [{ pointer, detail: "The address must not contain a user name or password." }];
    } catch (error) {
      if (!(error instanceof AddressRefused)) throw error;
      return [{ pointer, detail: error.message }];
    }
  });
}

function faultsOf(issue: z.core.$ZodIssue, entered: Settings): Fault[] {
  if (issue.code === "unrecognized_keys") return [];
  const path = issue.path.map(String);
  const isMissing = issue.code === "invalid_type" && !(path[0]! in entered);
  const detail = `"${path.join(".")}" ${isMissing ? "is missing" : issue.message}.`;
  return [{ pointer: pointerTo("settings", ...path), detail }];
}

/** Faults of names that are not in the form. */
function unknownSettings(fields: FormField[], entered: Settings): Fault[] {
  const unknown = Object.keys(entered).filter((name) => !fields.some((field) => field.name === name));
  return unknown.map((name) => ({
    pointer: pointerTo("settings", name),
    detail: "This kind of destination has no such setting.",
  }));
}

function invalid(errors: Fault[]): ProblemError {
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return problem("body-invalid", { detail: `${errors[0]!.detail}${more}`, errors });
}

function originOf(address: unknown): string | undefined {
  return URL.parse(String(address))?.origin;
}
