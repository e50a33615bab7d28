import { printSearch, type Search, type SearchField } from "../event/search.ts";
import { wordsOf } from "../event/words.ts";
import type { Store } from "../storage/store.ts";
import { field } from "./filter-terms.ts";
import { createKnownTexts, type Known } from "./known-texts.ts";
import { nearestText, nearestWord, ranks } from "./text-match.ts";

/** A term in place of another one, and what people call the user that it names. */
export type Correction = { search: Search; detail?: string };

/** Texts that contain what was written, of each kind. */
const similarMax = 2;
const usersMax = 3;
/** Characters at the end of a user's ID that may be wrong. */
const userEndMax = 4;
const nearUsers = 50;
/** Other names for the fields, in lower case without "_". */
const fieldsCalled: Record<string, SearchField> = {
  user: "user",
  userid: "user",
  uid: "user",
  channel: "channel",
  channelid: "channel",
  name: "name",
  event: "name",
};

/** Suggests what was meant by a term that finds nothing. Some suggestions may find nothing either. */
export function createCorrections(store: Store) {
  const { events } = store;
  const known = createKnownTexts(store);

  async function channels(projectId: number, value: string): Promise<Search[]> {
    const all = await known.channels(projectId, "");
    return similar(value, all, await known.channels(projectId, value)).map((text) => field("channel", text));
  }

  async function names(projectId: number, value: string, signal: AbortSignal): Promise<Search[]> {
    const sampled = known.sample(projectId, value, signal);
    const [all, containing] = await Promise.all([
      known.names(projectId, "", Promise.resolve([])),
      known.names(projectId, value, sampled),
    ]);
    return similar(value, all, containing).map((text) => field("name", text));
  }

  async function users(projectId: number, value: string, signal: AbortSignal): Promise<Correction[]> {
    const found = await known.users(projectId, value, signal);
    const best = found.slice(0, usersMax).map(({ text, name }): Correction => {
      return { search: field("user", text), ...(name !== null && { detail: name }) };
    });
    if (best.length > 0) return best;
    for (const written of new Set([value, value.toLowerCase(), value.toUpperCase()])) {
      for (let cut = 0; cut <= Math.min(userEndMax, written.length - 1); cut++) {
        const start = written.slice(0, written.length - cut);
        const starting = await events.startingWith(projectId, { kind: "user" }, start, nearUsers);
        const near = nearestText(value, starting);
        if (near !== null) return [{ search: field("user", near) }];
      }
    }
    return [];
  }

  async function tag(
    projectId: number,
    key: string,
    value: string,
    signal: AbortSignal,
  ): Promise<Correction[]> {
    const called = fieldsCalled[key.toLowerCase().replace(/[_-]/g, "")];
    const ofField = called === undefined ? [] : await fieldOf(projectId, called, value, signal);
    const meant = await keyMeant(projectId, key);
    const sampled = known.sample(projectId, value, signal);
    const [ofKey, ofAny] = await Promise.all([
      meant === null ? [] : valuesOf(projectId, meant, value, sampled),
      known.tags(value, sampled),
    ]);
    return [
      ...ofField,
      ...(meant === null || meant === key ? [] : [tagTerm(meant, value)]),
      ...ofKey.map((text) => tagTerm(meant!, text)),
      ...ofAny
        .filter(({ rank }) => rank === ranks.same)
        .slice(0, similarMax)
        .map((each) => tagTerm(each.key, each.text)),
    ];
  }

  /**
   * The key of a tag that was probably meant. Parameters of a listing are called `tag.plan`, in a search it is `plan`.
   */
  async function keyMeant(projectId: number, written: string): Promise<string | null> {
    const keys = (await known.keys(projectId, "")).map(({ text }) => text);
    if (keys.includes(written)) return written;
    const key = written.replace(/^tags?\./, "");
    return keys.includes(key) ? key : nearestText(key, keys);
  }

  async function valuesOf(
    projectId: number,
    key: string,
    value: string,
    sampled: ReturnType<typeof known.sample>,
  ) {
    const none = Promise.resolve([]);
    const [all, containing] = await Promise.all([
      known.values(projectId, key, "", none),
      known.values(projectId, key, value, sampled),
    ]);
    return similar(value, all, containing);
  }

  /** A value of a field, and what it may have meant. */
  async function fieldOf(
    projectId: number,
    name: SearchField,
    value: string,
    signal: AbortSignal,
  ): Promise<Correction[]> {
    return [{ search: field(name, value) }, ...(await ofField(projectId, name, value, signal))];
  }

  async function ofField(
    projectId: number,
    name: SearchField,
    value: string,
    signal: AbortSignal,
  ): Promise<Correction[]> {
    switch (name) {
      case "channel":
        return (await channels(projectId, value)).map((search) => ({ search }));
      case "name":
        return (await names(projectId, value, signal)).map((search) => ({ search }));
      case "user":
        return users(projectId, value, signal);
      case "notify":
        return [];
    }
  }

  async function text(
    projectId: number,
    written: Extract<Search, { kind: "text" }>,
    signal: AbortSignal,
  ): Promise<Correction[]> {
    const words = wordsOf(written.text);
    const [allNames, allChannels, meant] = await Promise.all([
      known.names(projectId, "", Promise.resolve([])),
      known.channels(projectId, ""),
      known.users(projectId, written.text, signal),
    ]);
    const near = nearestWord(
      written.text,
      [...allNames, ...allChannels].map((each) => each.text),
    );
    const apart: Search = {
      kind: "all",
      of: words.map((word, at) => ({
        kind: "text",
        text: word,
        isPrefix: written.isPrefix && at === words.length - 1,
      })),
    };
    return [
      ...asPrefix(written),
      ...meant.slice(0, usersMax).map(
        ({ text: userId, name }): Correction => ({
          search: field("user", userId),
          ...(name !== null && { detail: name }),
        }),
      ),
      ...(near === null
        ? []
        : [{ search: { ...written, text: near.word, isPrefix: written.isPrefix || !near.isWhole } }]),
      ...(words.length > 1 ? [{ search: apart }] : []),
    ];
  }

  return async function correct(projectId: number, term: Search, signal: AbortSignal): Promise<Correction[]> {
    const found = await ofTerm(projectId, term, signal);
    const written = printSearch(term);
    return [...new Map(found.map((each) => [printSearch(each.search), each])).entries()]
      .filter(([printed]) => printed !== written)
      .map(([, each]) => each);
  };

  async function ofTerm(projectId: number, term: Search, signal: AbortSignal): Promise<Correction[]> {
    switch (term.kind) {
      case "field":
        return term.values.length > 1 ? [] : ofField(projectId, term.field, term.values[0]!, signal);
      case "tag":
        return term.values.length > 1 ? [] : tag(projectId, term.key, term.values[0]!, signal);
      case "number": {
        const meant = await keyMeant(projectId, term.key);
        return meant === null || meant === term.key ? [] : [{ search: { ...term, key: meant } }];
      }
      case "text":
        return text(projectId, term, signal);
      default:
        return [];
    }
  }
}

/** Words that begin with the last one of a text. */
export function asPrefix(term: Search): Correction[] {
  return term.kind === "text" && !term.isPrefix ? [{ search: { ...term, isPrefix: true } }] : [];
}

function tagTerm(key: string, value: string): Correction {
  return { search: { kind: "tag", key, values: [value] } };
}

/** Texts that contain what was written, or else the nearest one. */
function similar(written: string, all: readonly Known[], containing: readonly Known[]): string[] {
  if (containing.length > 0) return containing.slice(0, similarMax).map(({ text }) => text);
  const near = nearestText(
    written,
    all.map(({ text }) => text),
  );
  return near === null ? [] : [near];
}
