import { limits } from "../core/limits.ts";
import { type Event, eventTexts } from "../event/event.ts";
import type { Search } from "../event/search.ts";
import { wordsOf } from "../event/words.ts";
import { userName } from "../schemas/user-name.ts";
import type { EventQuery, KnownTexts, UserTerm } from "../storage/event-queries.ts";
import { personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { readProfiles } from "../users/profiles.ts";
import { likePatterns, parseUserSearch } from "../users/user-search.ts";
import { type Rank, rankOf, ranks } from "./text-match.ts";

/** A text of a project's events that contains what was typed. */
export type Known = {
  text: string;
  rank: Rank;
  /** How many events have it, if that is known already. */
  events?: number;
};
export type KnownTag = Known & { key: string };
/** `text` is the ID. */
export type KnownUser = Known & { name: string | null };

/** Texts in which to look for what was typed: all, if a project has no more. */
const listedTexts = 200;
/** Newest events that contain what was typed. Their names and tags are found also if a project has more than that. */
const sampleEvents = 200;
const sampleStep = 20;
const sampleMs = 20;
/** A shorter beginning of a word is on so many events that the newest say nothing. */
const sampleCharacters = 2;
/** Users whose ID or name may contain what was typed. */
const sampleUsers = 50;

export function createKnownTexts({ control, events }: Store) {
  /** Texts that start with `typed`, also with another case of the first letter or of all, and listed ones with it inside. */
  async function indexed(projectId: number, texts: KnownTexts, typed: string): Promise<string[]> {
    const [first = "", ...rest] = typed;
    const prefixes = new Set([
      typed,
      ...[first.toLowerCase(), first.toUpperCase()].map((letter) => letter + rest.join("")),
      typed.toUpperCase(),
      "",
    ]);
    const found = await Promise.all(
      [...prefixes].map((prefix) => events.startingWith(projectId, texts, prefix, listedTexts)),
    );
    return found.flat();
  }

  /** The newest events with what was typed in a name, a description or a tag's value. */
  async function sample(projectId: number, typed: string, signal: AbortSignal): Promise<Event[]> {
    const last = wordsOf(typed).at(-1);
    if (last === undefined || last.length < sampleCharacters) return [];
    const search: Search = { kind: "text", text: typed, isPrefix: true };
    const query: EventQuery = { projectId, filter: { search }, order: "desc" };
    const startMs = performance.now();
    const found: Event[] = [];
    do {
      const { events: page, next } = await events.page(query, sampleStep, signal);
      for (const json of page) found.push(JSON.parse(json) as Event);
      if (next === null) break;
      query.after = next;
      // Where matches are rare, few must do.
    } while (found.length < sampleEvents && performance.now() - startMs < sampleMs);
    return found;
  }

  /** The IDs of users whose name has a word that begins with what was typed. */
  async function usersNamed(projectId: number, typed: string, signal: AbortSignal): Promise<string[]> {
    const isSearched = typed.length >= sampleCharacters && typed.length <= limits.userSearchCharacters;
    const terms = isSearched ? termsOf(typed) : [];
    if (terms.length === 0) return [];
    return events.usersMatching({ projectId, prefix: "", terms }, sampleUsers, signal);
  }

  return {
    sample,

    /** Channels, with their events. */
    async channels(projectId: number, typed: string): Promise<Known[]> {
      await events.flushCounters();
      const rows = await control
        .selectFrom("channels")
        .select(["name", "events"])
        .where("projectId", "=", projectId)
        .execute();
      return ranked(
        rows.map(({ name, events }) => ({ text: name, events })),
        typed,
      );
    },

    async names(projectId: number, typed: string, sampled: Promise<Event[]>): Promise<Known[]> {
      const [known, newest] = await Promise.all([indexed(projectId, { kind: "name" }, typed), sampled]);
      return ranked(
        textsIn(
          known,
          newest.map(({ name }) => name),
        ),
        typed,
      );
    },

    async keys(projectId: number, typed: string): Promise<Known[]> {
      return ranked(textsIn(await indexed(projectId, { kind: "key" }, typed)), typed);
    },

    /** The values of a key. */
    async values(projectId: number, key: string, typed: string, sampled: Promise<Event[]>): Promise<Known[]> {
      const [known, newest] = await Promise.all([indexed(projectId, { kind: "value", key }, typed), sampled]);
      const recent = newest.flatMap(({ tags }) => (Object.hasOwn(tags, key) ? [tags[key]!] : []));
      return ranked(textsIn(known, recent), typed);
    },

    /** The values of any key, in the newest events that have them. */
    async tags(typed: string, sampled: Promise<Event[]>): Promise<KnownTag[]> {
      const found = new Map<string, KnownTag & { times: number }>();
      for (const { tags } of await sampled) {
        for (const [key, text] of Object.entries(tags)) {
          const id = JSON.stringify([key, text]);
          const known = found.get(id);
          if (known) known.times++;
          else if (text.length <= shownCharacters) {
            const rank = rankOf(text, typed);
            if (rank !== null) found.set(id, { key, text, rank, times: 1 });
          }
        }
      }
      return [...found.values()].sort((a, b) => a.rank - b.rank || b.times - a.times);
    },

    /** Users with events, by their ID or what people call them. */
    async users(projectId: number, typed: string, signal: AbortSignal): Promise<KnownUser[]> {
      const [starting, named] = await Promise.all([
        events.startingWith(projectId, { kind: "user" }, typed, sampleUsers),
        usersNamed(projectId, typed, signal),
      ]);
      const userIds = [...new Set([...starting, ...named])];
      // By any ID, they have the person's name.
      const persons = await personsOf(control, projectId, userIds);
      const personOfId = (userId: string) => persons.get(userId) ?? userId;
      const profileOf = await readProfiles(control, projectId, [...new Set(userIds.map(personOfId))]);
      const found = userIds.flatMap((text): KnownUser[] => {
        const name = userName(profileOf(personOfId(text)).properties);
        const all = [text, ...(name === null ? [] : [name])].map((each) => rankOf(each, typed));
        const rank = Math.min(...all.map((each) => each ?? Number.POSITIVE_INFINITY)) as Rank;
        return Number.isFinite(rank) ? [{ text, name, rank }] : [];
      });
      return found.sort((a, b) => a.rank - b.rank);
    },
  };
}

/** Longer texts are not suggested: nobody could tell them apart. */
const shownCharacters = eventTexts.name.max;

/** @param newest - texts of the newest events, with repetitions: those that are frequent come first */
function textsIn(known: readonly string[], newest: readonly string[] = []): Text[] {
  const times = new Map<string, number>(known.map((text) => [text, 0]));
  for (const text of newest) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times]
    .filter(([text]) => text.length <= shownCharacters)
    .map(([text, times]) => ({ text, times }));
}

type Text = { text: string; events?: number; times?: number };

/** Those that contain what was typed: the best match, then the most frequent one, then as it was typed. */
function ranked(texts: readonly Text[], typed: string): Known[] {
  const frequency = ({ events, times }: Text) => events ?? times ?? 0;
  const isAsTyped = ({ text }: Text) => (text.startsWith(typed) ? 0 : 1);
  return texts
    .flatMap((each) => {
      const rank = rankOf(each.text, typed);
      return rank === null ? [] : [{ ...each, rank }];
    })
    .sort(
      (a, b) =>
        Math.max(a.rank, ranks.start) - Math.max(b.rank, ranks.start) ||
        frequency(b) - frequency(a) ||
        isAsTyped(a) - isAsTyped(b) ||
        (a.text < b.text ? -1 : 1),
    );
}

/**
 * Patterns for users whose name begins with what was typed, or has a word that does: few, because all users are compared
 * with each. They find too much, and `userName` decides.
 */
function termsOf(typed: string): UserTerm[] {
  const [whole] = likePatterns(parseUserSearch(`"${typed.replaceAll('"', " ").trim()}"`));
  if (!whole?.id) return [];
  const pattern = whole.id.slice(1, -1);
  const properties = [`%name":"${pattern}%`, `%name":"% ${pattern}%`, `%email":"${pattern}%`];
  return [{ id: null, properties }];
}
