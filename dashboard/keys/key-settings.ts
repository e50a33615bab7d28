import { limits } from "../../server/core/limits.ts";
import type { KeyKind, Scope } from "../../server/core/permissions.ts";
import type { Key, KeyChange, NewKey } from "../../server/schemas/key.ts";
import type { KeyIdentify } from "../../server/schemas/key-identify.ts";
import { formatDate } from "../components/dates.ts";
import { orNone, type Part, part } from "../edits/differences.ts";

export const scopeLabels: Record<Scope, { label: string; hint: string }> = {
  ingest: { label: "Send", hint: "Record events and set the properties of users" },
  read: { label: "Read", hint: "List, search, stream and count events" },
  manage: { label: "Manage", hint: "Change channels, delete events, erase users" },
};

export const identifyLabels: Record<KeyIdentify, { label: string; hint: string }> = {
  signed: {
    label: "With a signature",
    hint: "Your server signs the ID of the user who signed in.",
  },
  unsigned: {
    label: "Without",
    hint: "Any visitor can join anonymous IDs to any user.",
  },
};

/** When a key expires: never, at its present time, after some days, or at the end of a chosen day. */
export type Expiry = "never" | "present" | "30" | "90" | "365" | "date";

/** The fields of a form for a key. */
export type KeySettings = {
  name: string;
  kind: KeyKind;
  scopes: Scope[];
  /** One on each line. */
  origins: string;
  expiry: Expiry;
  /** When a key that exists expires. */
  present: string | null;
  /** The chosen day, as `2030-01-31`. */
  date: string;
  /** Empty is unlimited. */
  eventsPerSecond: string;
  /** Of a publishable key. */
  identify: KeyIdentify;
};

export const newKeySettings: KeySettings = {
  name: "",
  kind: "secret",
  scopes: ["ingest", "read"],
  origins: "",
  expiry: "never",
  present: null,
  date: "",
  eventsPerSecond: "",
  identify: "signed",
};

export function settingsOf(key: Key): KeySettings {
  return {
    name: key.name,
    kind: key.kind,
    scopes: key.scopes,
    origins: key.origins.join("\n"),
    expiry: key.expiresAt === null ? "never" : "present",
    present: key.expiresAt,
    date: "",
    eventsPerSecond: key.eventsPerSecond === null ? "" : String(key.eventsPerSecond),
    identify: key.identify ?? "signed",
  };
}

/** The settings of a kind of key, with the default rate limit of that kind. */
export function withKind(settings: KeySettings, kind: KeyKind): KeySettings {
  const eventsPerSecond = kind === "publishable" ? String(limits.publishableEventsPerSecond) : "";
  return { ...settings, kind, eventsPerSecond };
}

export function newKeyOf(settings: KeySettings): NewKey {
  const { kind, scopes } = settings;
  return {
    name: settings.name.trim(),
    kind,
    ...(kind === "secret" ? { scopes } : { origins: originsOf(settings), identify: settings.identify }),
    expiresAt: expiryOf(settings),
    eventsPerSecond: rateOf(settings),
  };
}

/** The changes to a key's settings. */
export function keyChangeOf(key: Key, settings: KeySettings): KeyChange {
  const { expiresAt, eventsPerSecond, kind } = key;
  const name = settings.name.trim();
  const origins = originsOf(settings);
  const expiry = expiryOf(settings);
  const rate = rateOf(settings);
  return {
    ...(name !== key.name && { name }),
    ...(kind === "secret" && settings.scopes.join() !== key.scopes.join() && { scopes: settings.scopes }),
    ...(kind === "publishable" && origins.join() !== key.origins.join() && { origins }),
    ...(expiry !== expiresAt && { expiresAt: expiry }),
    ...(rate !== eventsPerSecond && { eventsPerSecond: rate }),
    ...(kind === "publishable" && settings.identify !== key.identify && { identify: settings.identify }),
  };
}

export function originsOf({ origins }: KeySettings): string[] {
  return origins
    .split(/[\s,]+/)
    .map((origin) => origin.replace(/\/$/, ""))
    .filter((origin) => origin !== "");
}

function rateOf({ eventsPerSecond }: KeySettings): number | null {
  return eventsPerSecond === "" ? null : Number(eventsPerSecond);
}

function expiryOf({ expiry, present, date }: KeySettings): string | null {
  if (expiry === "never") return null;
  if (expiry === "present") return present;
  const at =
    expiry === "date" ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(expiry) * 86_400_000);
  return at.toISOString();
}

/** The parts of a key, for when two people have changed it. */
export const keyParts: Part<KeySettings>[] = [
  part("Name", ["name"], ({ name }) => name),
  part("What it may do", ["scopes"], ({ scopes }) =>
    scopes.map((scope) => scopeLabels[scope].label).join(", "),
  ),
  part("Pages that may use it", ["origins"], ({ origins }) => orNone(origins, "All pages")),
  part("Expires", ["expiry", "present", "date"], (settings) => {
    const at = settings.expiry === "date" && settings.date === "" ? null : expiryOf(settings);
    return at === null ? "Never" : formatDate(at, "dayOfYear");
  }),
  part("Joining IDs", ["identify"], ({ identify }) => identifyLabels[identify].label),
  part("Events a second", ["eventsPerSecond"], ({ eventsPerSecond }) => orNone(eventsPerSecond, "Unlimited")),
];
