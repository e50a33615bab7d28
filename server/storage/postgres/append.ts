import { limits } from "../../core/limits.ts";
import { type ArrivalStamp, compareStamps, stampOfId } from "../../event/id.ts";
import { tokensFor } from "../../event/tokens.ts";
import { CountedNames } from "../counted-names.ts";
import { CounterDeltas } from "../counter-deltas.ts";
import { bodyOf, jsonOf } from "../event-row.ts";
import type { AcceptedEvent, AppendCompanion, AppendResult } from "../event-store.ts";
import { arrivals, bigints, integers, texts, uuids } from "./arrays.ts";
import { shiftStamp } from "./arrival.ts";
import type { Partitions } from "./partitions.ts";
import type { Query } from "./query.ts";
import { timedTokens } from "./scan-cursor.ts";
import type { NewTexts } from "./vocabulary.ts";

/**
 * Time-out of a batch, including its wait for other nodes' batches. After it, nobody knows whether the batch was
 * stored.
 */
const appendMs = 5_000;

/** Events that are stored all or none. */
export type Unit = { events: readonly AcceptedEvent[]; companion: AppendCompanion | null };

/**
 * A commit: the arrival before it, its own last arrival, and by how much the database shifted its arrivals to put them
 * after those of other nodes.
 */
export type Commit = {
  before: ArrivalStamp;
  last: ArrivalStamp;
  shift: number;
  created: AcceptedEvent[];
};

/**
 * The part of a commit's notification that the node writes. The database adds its arrivals and whether any of its
 * events notifies.
 */
export type NoteStart = {
  node: string;
  /** The range of its events' `createdAt`, both inclusive. */
  fromMs: number;
  toMs: number;
  /** The projects of its events; null if they are too many to list. */
  projects: number[] | null;
};

/** Project numbers that fit in a notification (8,000 bytes). */
const noteProjectsMax = 500;

type Row = {
  before_ms: number;
  before_sequence: number;
  shift: number;
  removals: number;
  listed:
    | (
        | [number: number, kind: "skipped"]
        | [number: number, kind: "duplicate", id: string, body: string, createdAtMs: number]
      )[]
    | null;
};

const created: AppendResult = { kind: "created" };

/**
 * Stores units in one transaction. Returns the results of each unit, or null for a unit whose companion could not be
 * recorded, and the commit.
 *
 * Invariant: nothing is acknowledged or streamed before its log is durable. Checked by
 * `server/storage/postgres/crash.test.ts`.
 *
 * @param node - this node's id in notifications
 */
export function createAppend(runQuery: Query, node: string, partitions: Partitions, newTexts: NewTexts) {
  const names = new CountedNames();

  return async function append(
    units: readonly Unit[],
  ): Promise<{ results: (AppendResult[] | null)[]; commit: Commit }> {
    const entries = inOrderOfArrival(units);
    const events = entries.map(({ event }) => event);
    const missing = events.filter(({ createdAtMs }) => !partitions.holds(createdAtMs));
    if (missing.length > 0) await partitions.make(missing.map(({ createdAtMs }) => createdAtMs));

    const newTokens = newTexts.among(events);
    const parameters = {
      ...eventParameters(events),
      ...counterParameters(events, names),
      in_companion_of: integers(entries.map(({ companionNumber }) => companionNumber)),
      in_companions: companionsOf(units),
      in_new_tokens: texts(newTokens.tokens),
      in_removals: newTokens.removals,
      in_note: JSON.stringify(noteStart(node, events)).slice(1, -1),
      now_ms: events.at(-1)!.receivedMs,
    };
    const named = Object.keys(parameters).map((name, index) => `${name} => $${index + 1}`);
    const [row] = await runQuery<Row>(
      `CALL append_events(${named}, before_ms => NULL, before_sequence => NULL, shift => NULL, removals => NULL, listed => NULL)`,
      Object.values(parameters),
      appendMs,
    );
    const { before_ms, before_sequence, shift, removals, listed } = row!;
    newTexts.stored(newTokens, removals);
    const { results, isCreated } = resultsOf(units, entries, listed ?? []);
    return {
      results,
      commit: {
        before: { ms: before_ms, sequence: before_sequence },
        last: shiftStamp(events.at(-1)!.arrival, shift),
        shift,
        created: events.filter((_, index) => isCreated[index]),
      },
    };
  };
}

function eventParameters(events: readonly AcceptedEvent[]) {
  const tokens = events.map((event) => timedTokens(event.projectId, tokensFor(event), event.createdAtMs));
  const flags = events.map(flagsOf);
  return {
    in_projects: integers(events.map(({ projectId }) => projectId)),
    in_created: bigints(events.map(({ createdAtMs }) => createdAtMs)),
    in_arrivals: arrivals(events.map(({ arrival }) => arrival)),
    in_ids: uuids(events.map(({ event }) => event.id)),
    in_bodies: texts(events.map(({ json }) => bodyOf(json))),
    in_tokens: texts(tokens),
    in_flags: integers(flags),
    in_id_ms: bigints(events.map(({ hasClientId, event }) => (hasClientId ? stampOfId(event.id).ms : 0))),
    in_all_flags: flags.reduce((all, each) => all | each, 0),
  };
}

/** The events' changes to the counters. */
function counterParameters(events: readonly AcceptedEvent[], names: CountedNames) {
  const counts = new CounterDeltas();
  for (const { projectId, createdAtMs, event } of events) {
    const name = names.of(projectId, event.channelId, event.name, createdAtMs);
    counts.add(projectId, event.channelId, name, createdAtMs);
  }
  const sums = [...counts.byHour()];
  return {
    sum_projects: integers(sums.map(({ projectId }) => projectId)),
    sum_channels: texts(sums.map(({ channel }) => channel)),
    sum_names: texts(sums.map(({ name }) => name)),
    sum_hours: integers(sums.map(({ hour }) => hour)),
    sum_events: integers(sums.map(({ events }) => events)),
    sum_last: bigints(sums.map(({ lastMs }) => lastMs)),
  };
}

function noteStart(node: string, events: readonly AcceptedEvent[]): NoteStart {
  const projects = new Set<number>();
  let [fromMs, toMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { projectId, createdAtMs } of events) {
    projects.add(projectId);
    if (createdAtMs < fromMs) fromMs = createdAtMs;
    if (createdAtMs > toMs) toMs = createdAtMs;
  }
  return { node, fromMs, toMs, projects: projects.size > noteProjectsMax ? null : [...projects] };
}

/** The results of each unit, and which entries are new: all that the database does not list. */
function resultsOf(units: readonly Unit[], entries: readonly Entry[], listed: NonNullable<Row["listed"]>) {
  const results = units.map(({ events }): AppendResult[] | null =>
    new Array<AppendResult>(events.length).fill(created),
  );
  const isCreated = new Array<boolean>(entries.length).fill(true);
  for (const [number, ...item] of listed) {
    const { unit, at } = entries[number - 1]!;
    isCreated[number - 1] = false;
    if (item[0] === "skipped") results[unit] = null;
    else results[unit]![at] = { kind: "duplicate", json: jsonOf(item[1]!, item[2]!, item[3]!) };
  }
  return { results, isCreated };
}

type Entry = { event: AcceptedEvent; unit: number; at: number; companionNumber: number };

function inOrderOfArrival(units: readonly Unit[]): Entry[] {
  const entries: Entry[] = [];
  let companions = 0;
  units.forEach(({ events, companion }, unit) => {
    const companionNumber = companion ? ++companions : 0;
    for (let at = 0; at < events.length; at++)
      entries.push({ event: events[at]!, unit, at, companionNumber });
  });
  return entries.sort((a, b) => compareStamps(a.event.arrival, b.event.arrival));
}

function flagsOf({ hasClientId, hasClientTimestamp, notifies, wasNotified }: AcceptedEvent): number {
  return (hasClientId ? 1 : 0) | (hasClientTimestamp ? 2 : 0) | (notifies ? 4 : 0) | (wasNotified ? 8 : 0);
}

/** The units' companions as JSON. */
function companionsOf(units: readonly Unit[]): string | null {
  const companions = units.flatMap(({ events, companion }) => {
    if (!companion) return [];
    const { projectId, receivedMs } = events[0]!;
    return [{ ...companion, projectId, expiredMs: receivedMs - limits.idempotencyMs }];
  });
  return companions.length === 0 ? null : JSON.stringify(companions);
}
