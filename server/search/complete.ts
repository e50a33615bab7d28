import { limits } from "../core/limits.ts";
import { isNumber } from "../event/number.ts";
import {
  printId,
  printText,
  printType,
  type Search,
  type SearchField,
  type SearchKey,
  searchFields,
} from "../event/search.ts";
import { termAt } from "../event/term-at.ts";
import { timeOfEvents } from "../events/count.ts";
import { listTypes } from "../groups/groups.ts";
import type { Completion } from "../schemas/completion.ts";
import type { Store } from "../storage/store.ts";
import { endOfPrefix } from "../storage/text-range.ts";
import { createCachedCount } from "./cached-count.ts";
import { createKnownTexts, type Known, type KnownUser } from "./known-texts.ts";
import { nearestText, type Rank, ranks } from "./text-match.ts";
import { TimeLimit } from "./time-limit.ts";

type Suggestion = Completion["suggestions"][number];
/** A suggestion, how well it matches, and the search that counts it; null if it isn't counted, or has its count. */
type Candidate = { suggestion: Suggestion; rank: Rank; search: Search | null };

/** Suggestions of each kind at the start of a term, and for values. */
const termsMax = 5;
const valuesMax = 20;
/** Values of a key that are looked at for numbers. */
const sampleValues = 50;
/** Typed text is compared with all texts for a near one only from here on. */
const nearCharacters = 4;

/** Suggests fields, and texts of the project's events, for the cursor position in a search. */
export function createComplete(store: Store) {
  const { events } = store;
  const known = createKnownTexts(store);
  const cachedCount = createCachedCount(store);

  async function terms(projectId: number, typed: string, timeLimit: TimeLimit): Promise<Candidate[]> {
    const sampled = timeLimit.orElse([], (signal) => known.sample(projectId, typed, signal));
    // All are awaited together. If only one were awaited, a failure of another would be unhandled.
    const [types, channels, names, tags, users, keys] = await Promise.all([
      typesNamed(projectId, typed),
      known.channels(projectId, typed),
      known.names(projectId, typed, sampled),
      // Without anything typed, any user or tag could be meant.
      typed === "" ? [] : known.tags(typed, sampled),
      typed === "" ? [] : timeLimit.orElse([], (signal) => known.users(projectId, typed, signal)),
      known.keys(projectId, typed),
    ]);
    const keysFound = await Promise.all(keys.slice(0, termsMax).map((key) => keyCandidates(projectId, key)));
    const found: Candidate[] = [
      ...fieldsNamed(typed),
      ...types,
      ...channels.slice(0, termsMax).map((channel) => ofField("channel", channel, `channel:`)),
      ...names.slice(0, termsMax).map((name) => ofField("name", name, "name:")),
      ...tags.slice(0, termsMax).map(({ key, text, rank }): Candidate => {
        const insert = `${printText(key)}=${printText(text)}`;
        return {
          suggestion: { kind: "tag", text, detail: key, insert },
          rank,
          search: { kind: "tag", key, values: [text] },
        };
      }),
      ...(await usersWithEvents(projectId, users, termsMax)).map((user) => ofUser("user", user, "user:")),
      ...keysFound.flat(),
    ];
    if (found.length > 0 || typed.length < nearCharacters) return found;
    return near(projectId, typed);
  }

  /** Nothing contains what was typed: what is spelled nearly like it. */
  async function near(projectId: number, typed: string): Promise<Candidate[]> {
    const [channels, names, keys] = await Promise.all([
      known.channels(projectId, ""),
      known.names(projectId, "", Promise.resolve([])),
      known.keys(projectId, ""),
    ]);
    const nearestOf = (all: Known[]) => {
      const text = nearestText(
        typed,
        all.map((each) => each.text),
      );
      return all.filter((each) => each.text === text).map((each) => ({ ...each, rank: ranks.near }));
    };
    const keysFound = await Promise.all(nearestOf(keys).map((key) => keyCandidates(projectId, key)));
    return [
      ...nearestOf(channels).map((channel) => ofField("channel", channel, "channel:")),
      ...nearestOf(names).map((name) => ofField("name", name, "name:")),
      ...keysFound.flat(),
    ];
  }

  /** A key with "=", and with the comparisons if some of its values are numbers. */
  async function keyCandidates(projectId: number, { text: key, rank }: Known): Promise<Candidate[]> {
    const printed = printText(key);
    const values = await events.startingWith(projectId, { kind: "value", key }, "", sampleValues);
    const candidate = (text: string, operator: string): Candidate => ({
      suggestion: { kind: "key", text, insert: `${printed}${operator}` },
      rank,
      search: null,
    });
    if (!values.some(isNumber)) return [candidate(key, "=")];
    return [candidate(key, "="), candidate(`${key} >`, ">"), candidate(`${key} <`, "<")];
  }

  async function values(
    projectId: number,
    of: { field: SearchKey } | { key: string } | { group: string },
    typed: string,
    timeLimit: TimeLimit,
  ): Promise<Candidate[]> {
    const sample = () => timeLimit.orElse([], (signal) => known.sample(projectId, typed, signal));
    if ("group" in of) {
      const groups = await groupsWith(projectId, of.group, typed);
      // Without groups of the type, it is a tag.
      return groups ?? values(projectId, { key: of.group }, typed, timeLimit);
    }
    if ("key" in of) {
      const found = await known.values(projectId, of.key, typed, sample());
      return found.slice(0, valuesMax).map(({ text, rank }) => ({
        suggestion: { kind: "value", text, insert: printText(text) },
        rank,
        search: { kind: "tag", key: of.key, values: [text] },
      }));
    }
    switch (of.field) {
      case "notify":
        return ["true", "false"]
          .filter((text) => text.startsWith(typed))
          .map((text) => ofField("notify", { text, rank: ranks.start }, ""));
      case "cohort":
        return cohortsWith(projectId, typed);
      case "channel":
        return (await known.channels(projectId, typed))
          .slice(0, valuesMax)
          .map((channel) => ofField("channel", channel, "", "value"));
      case "name":
        return (await known.names(projectId, typed, sample()))
          .slice(0, valuesMax)
          .map((name) => ofField("name", name, "", "value"));
      case "user": {
        const users = await timeLimit.orElse([], (signal) => known.users(projectId, typed, signal));
        return (await usersWithEvents(projectId, users, valuesMax)).map((user) => ofUser("value", user, ""));
      }
    }
  }

  async function cohortsWith(projectId: number, typed: string): Promise<Candidate[]> {
    const rows = await store.control
      .selectFrom("cohorts")
      .select(["name", "people"])
      .where("projectId", "=", projectId)
      .where("deletedAt", "is", null)
      .orderBy("name")
      .execute();
    const sought = typed.toLowerCase();
    return rows
      .filter(({ name }) => name.toLowerCase().includes(sought))
      .slice(0, valuesMax)
      .map(({ name, people }) => ({
        suggestion: {
          kind: "value",
          text: name,
          insert: printText(name),
          ...(people !== null && { detail: people === 1 ? "1 person" : `${people} people` }),
        },
        rank: name.toLowerCase().startsWith(sought) ? ranks.start : ranks.inside,
        search: null,
      }));
  }

  /** The types of groups that begin with what was typed. */
  async function typesNamed(projectId: number, typed: string): Promise<Candidate[]> {
    const types = await listTypes(store.control, projectId);
    return types
      .filter(({ type }) => type.startsWith(typed))
      .map(({ type }) => {
        const insert = `${printType(type)}:`;
        return { suggestion: { kind: "field", text: insert, insert }, rank: ranks.start, search: null };
      });
  }

  /** The groups of a type that begin with what was typed, by ID; null if the project has none of the type. */
  async function groupsWith(projectId: number, type: string, typed: string): Promise<Candidate[] | null> {
    const types = await listTypes(store.control, projectId);
    if (!types.some((each) => each.type === type)) return null;
    const rows = await store.control
      .selectFrom("userGroups")
      .select("groupId")
      .where("projectId", "=", projectId)
      .where("type", "=", type)
      .$if(typed !== "", (query) =>
        query.where("groupId", ">=", typed).where("groupId", "<", endOfPrefix(typed)),
      )
      .orderBy("groupId")
      .limit(valuesMax)
      .execute();
    return rows.map(({ groupId }) => ({
      suggestion: { kind: "value", text: groupId, insert: printId(groupId) },
      rank: ranks.start,
      search: { kind: "group", type, ids: [groupId] },
    }));
  }

  /** The best matches that have events, with their counts. */
  async function usersWithEvents(projectId: number, users: KnownUser[], max: number): Promise<KnownUser[]> {
    const best = users.slice(0, 2 * max);
    if (best.length === 0) return [];
    const counted = await events.users({ projectId, userIds: best.map(({ text }) => text) }, best.length);
    const counts = new Map(counted.map((user) => [user.userId, user.events]));
    return best
      .flatMap((user) => {
        const events = counts.get(user.text);
        return events === undefined ? [] : [{ ...user, events }];
      })
      .slice(0, max);
  }

  /** Adds the counts of suggestions, as far as they are known soon. */
  async function counted(projectId: number, found: Candidate[], timeLimit: TimeLimit): Promise<Candidate[]> {
    const time = found.some(({ search }) => search !== null) ? await timeOfEvents(events, projectId) : null;
    return Promise.all(
      found.map(async (candidate) => {
        const { suggestion, search } = candidate;
        if (search === null) return candidate;
        const events = await timeLimit.orElse(null, (signal) => cachedCount(projectId, search, time, signal));
        return events === null ? candidate : { ...candidate, suggestion: { ...suggestion, events } };
      }),
    );
  }

  return async function complete(projectId: number, q: string, at: number): Promise<Completion> {
    const term = termAt(q, at);
    if (term === null) return { ok: true, start: at, end: at, suggestions: [] };
    const { start, end, typed, of } = term;
    const timeLimit = new TimeLimit(limits.completionMs);
    const found = await (of === null
      ? terms(projectId, typed, timeLimit)
      : values(projectId, of, typed, timeLimit));
    const candidates = await counted(projectId, found, timeLimit);
    candidates.sort(compareCandidates);
    return { ok: true, start, end, suggestions: candidates.map(({ suggestion }) => suggestion) };
  };
}

const kinds = ["field", "channel", "name", "tag", "user", "key", "value"] as const;

/** The best match first, then by kind, then the most frequent one; otherwise the order stays. */
function compareCandidates(a: Candidate, b: Candidate): number {
  const place = ({ suggestion }: Candidate) => kinds.indexOf(suggestion.kind);
  return a.rank - b.rank || place(a) - place(b) || (b.suggestion.events ?? 0) - (a.suggestion.events ?? 0);
}

function fieldsNamed(typed: string): Candidate[] {
  return searchFields
    .filter((field) => field.startsWith(typed))
    .map((field) => ({
      suggestion: { kind: "field", text: `${field}:`, insert: `${field}:` },
      rank: ranks.start,
      search: null,
    }));
}

function ofField(
  field: SearchField,
  { text, rank, events }: Known,
  lead: string,
  kind: Suggestion["kind"] = field === "notify" ? "value" : (field as "channel" | "name"),
): Candidate {
  const insert = `${lead}${printText(text)}`;
  if (events !== undefined) return { suggestion: { kind, text, insert, events }, rank, search: null };
  return { suggestion: { kind, text, insert }, rank, search: { kind: "field", field, values: [text] } };
}

function ofUser(
  kind: "user" | "value",
  { text: id, name, rank, events }: KnownUser,
  lead: string,
): Candidate {
  const insert = `${lead}${printText(id)}`;
  const shown = name === null ? { text: id } : { text: name, detail: id };
  return {
    suggestion: { kind, ...shown, insert, ...(events !== undefined && { events }) },
    rank,
    search: null,
  };
}
