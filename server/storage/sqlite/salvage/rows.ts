import { eventJson } from "../../event-row.ts";
import { parseReference } from "../body-group.ts";
import type { RowId, StoredRow, Value } from "./records.ts";

/**
 * A row of the tables that are salvaged.
 *
 * Invariant: the columns of a row tell its table, without SQLite. A migration that changes `events`, `channels`,
 * `users`, `person_ids`, `projects`, `channel_counters` or `uncounted` also changes this file, and one that changes
 * `body_groups` `packed-bodies.ts`. Checked by `server/storage/sqlite/salvage/salvage.test.ts`.
 */
export type SalvagedRow =
  | { kind: "event"; projectId: number; ms: number; json: string }
  | { kind: "packedEvent"; projectId: number; ms: number; id: Buffer; reference: number }
  | { kind: "user"; projectId: number; userId: string; isKnown: boolean; properties: object }
  /** An ID that is joined to a person's main ID; the same ID if it was split off. */
  | { kind: "joined"; projectId: number; userId: string; personId: string }
  | { kind: "channel"; projectId: number; channel: SalvagedChannel; events: number }
  | { kind: "project"; projectId: number; slug: string; isDeleted: boolean }
  | { kind: "count"; projectId: number; hour: number; events: number }
  | { kind: "uncounted"; counts: { projectId: number; hour: number; events: number }[] };

export type SalvagedChannel = {
  name: string;
  icon: string | null;
  description: string | null;
  retentionDays: number | null;
  firstTags?: string[];
  archived: boolean;
};

const idBytes = 16;
/** The columns of an ID that was joined. A channel has fewer. */
const joinedColumns = 11;
/** The milliseconds of a row key, as in `row-key.ts`. */
const sequenceBits = 21;
const hourMs = 3_600_000;
/** Hours since 1970 of the years that an event can have. Timestamps in milliseconds are far larger. */
const hoursMax = 2 ** 42 / hourMs;
/** Any timestamp in milliseconds is larger. */
const msMin = 1_000_000_000_000;
const referencePattern = /^[0-9a-z]{1,10}$/;

/** The row of one of the tables; null if it is another table's, or damaged. */
export function salvagedRow(row: StoredRow): SalvagedRow | null {
  return row.rowid ? withRowid(row.values, row.rowid) : withoutRowid(row.values);
}

/** The milliseconds of a row key. */
export function msOf({ high, low }: RowId): number {
  return high * 2 ** (32 - sequenceBits) + (low >>> sequenceBits);
}

function withRowid(values: Value[], rowid: RowId): SalvagedRow | null {
  // SQLite stores null for the column that is the rowid.
  if (values[0] !== null) return null;
  const [, second, third, fourth, fifth] = values;
  if (values.length === 5 && third instanceof Buffer) {
    if (!isCount(second) || third.length !== idBytes || !isNullOrNumber(fourth) || typeof fifth !== "string")
      return null;
    const ms = msOf(rowid);
    if (referencePattern.test(fifth))
      return { kind: "packedEvent", projectId: second, ms, id: third, reference: parseReference(fifth) };
    return eventOf(second, third, fifth, ms);
  }
  if (values.length === 2) return typeof second === "string" ? uncountedOf(second) : null;
  const createdAt = values[7];
  const isProject =
    typeof second === "string" &&
    /^[a-z0-9-]+$/.test(second) &&
    typeof third === "string" &&
    isCount(fourth) &&
    values.slice(4, 7).every(isNullOrNumber) &&
    isCount(createdAt) &&
    createdAt > msMin;
  if (!isProject || rowid.high !== 0) return null;
  return { kind: "project", projectId: rowid.low, slug: second, isDeleted: values[6] !== null };
}

/** An event with its body; null if that is damaged. */
export function eventOf(
  projectId: number,
  id: Buffer,
  body: string,
  ms: number,
): Extract<SalvagedRow, { kind: "event" }> | null {
  try {
    const json = eventJson(id.toString("hex"), body, ms);
    const event = JSON.parse(json) as Record<string, unknown>;
    const isWhole = typeof event.name === "string" && typeof event.channelId === "string";
    return isWhole ? { kind: "event", projectId, ms, json } : null;
  } catch {
    return null;
  }
}

function uncountedOf(text: string): SalvagedRow | null {
  const rows = text.startsWith("[[") ? parsed(text) : null;
  if (!Array.isArray(rows)) return null;
  const counts = rows.flatMap((row: unknown) => {
    if (!Array.isArray(row)) return [];
    const [projectId, , , hour, events] = row as Value[];
    return isCount(projectId) && isHour(hour) && isCount(events) ? [{ projectId, hour, events }] : [];
  });
  return counts.length === rows.length ? { kind: "uncounted", counts } : null;
}

function withoutRowid(values: Value[]): SalvagedRow | null {
  const [projectId, name, third, fourth, fifth = null] = values;
  if (!isCount(projectId) || typeof name !== "string") return null;
  if (values.length === joinedColumns && typeof third === "string" && typeof values[5] === "string")
    return joinedOf(projectId, name, third, values);
  if (values.length >= 9) return channelOf(projectId, name, values);
  if (values.length === 4 && isHour(third) && isCount(fourth))
    return { kind: "count", projectId, hour: third, events: fourth };
  // Rows that were written before users could be identified have four columns.
  if (values.length !== 4 && values.length !== 5) return null;
  if (
    !isNullOrNumber(fifth) ||
    typeof third !== "string" ||
    !third.startsWith("{") ||
    !isCount(fourth) ||
    fourth < msMin
  )
    return null;
  const properties = parsed(third);
  return properties && { kind: "user", projectId, userId: name, isKnown: fifth !== null, properties };
}

function joinedOf(projectId: number, userId: string, personId: string, values: Value[]): SalvagedRow | null {
  const [, , , joinedTo, joinedAt, , joinedName, properties, identifiedAt, filled, version] = values;
  const isJoined =
    isNullOrText(joinedTo) &&
    (joinedTo === null) === (personId === userId) &&
    isCount(joinedAt) &&
    joinedAt > msMin &&
    isNullOrText(joinedName) &&
    typeof properties === "string" &&
    isNullOrNumber(identifiedAt) &&
    typeof filled === "string" &&
    isCount(version);
  return isJoined ? { kind: "joined", projectId, userId, personId } : null;
}

function channelOf(projectId: number, name: string, values: Value[]): SalvagedRow | null {
  const [, , icon, description, retentionDays, archivedAt, events, lastEventAt, createdAt, firstTags] =
    values;
  const isChannel =
    isNullOrText(icon) &&
    isNullOrText(description) &&
    isNullOrNumber(retentionDays) &&
    isNullOrNumber(archivedAt) &&
    typeof events === "number" &&
    isNullOrNumber(lastEventAt) &&
    isCount(createdAt) &&
    createdAt > msMin;
  if (!isChannel) return null;
  // Rows that were written before there was this column don't have it.
  const tags = typeof firstTags === "string" ? parsed(firstTags) : null;
  const channel = {
    ...{ name, icon, description, retentionDays },
    ...(Array.isArray(tags) && tags.length > 0 && { firstTags: tags as string[] }),
    archived: archivedAt !== null,
  };
  return { kind: "channel", projectId, channel, events };
}

function parsed(text: string): object | null {
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

function isCount(value: Value | undefined): value is number {
  return typeof value === "number" && value >= 0;
}

function isHour(value: Value | undefined): value is number {
  return isCount(value) && value < hoursMax;
}

function isNullOrNumber(value: Value | undefined): value is number | null {
  return value === null || typeof value === "number";
}

function isNullOrText(value: Value | undefined): value is string | null {
  return value === null || typeof value === "string";
}
