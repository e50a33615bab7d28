import type { Event } from "./event.ts";
import { EventWords, PrefixSet } from "./event-words.ts";
import { isNumber, positionIn } from "./number.ts";
import type { Search, SearchField } from "./search.ts";
import { hasUser } from "./user-set.ts";
import { formsOf, wordsOf } from "./words.ts";

/** Whether an event matches. */
export type EventTest = (event: Event) => boolean;

/**
 * Compiles a search to a function that tells whether an event matches. Alternatives become sets, so a search for a
 * hundred words or prefixes costs little more than one for a single word.
 */
export function compileSearch(search: Search): EventTest {
  switch (search.kind) {
    case "all":
      return allOf(search.of);
    case "any":
      return anyOf(search.of);
    case "not":
      return negated(compileSearch(search.of));
    default:
      return anyOf([search]);
  }
}

function allOf(parts: readonly Search[]): EventTest {
  const tests: EventTest[] = [];
  const excluded: Search[] = [];
  for (const part of flat("all", parts)) {
    if (part.kind === "not") excluded.push(part.of);
    else tests.push(compileSearch(part));
  }
  if (excluded.length > 0) tests.push(negated(anyOf(excluded)));
  return tests.length === 1 ? tests[0]! : (event) => tests.every((test) => test(event));
}

function anyOf(parts: readonly Search[]): EventTest {
  const fields = new Map<SearchField, Set<string>>();
  const tags = new Map<string, Set<string>>();
  const words = new Set<string>();
  const prefixes = new Set<string>();
  const excluded: Search[] = [];
  const others: EventTest[] = [];
  for (const part of flat("any", parts)) {
    switch (part.kind) {
      case "field":
        addAll(fields, part.field, part.values);
        break;
      case "tag":
        addAll(tags, part.key, part.values);
        break;
      case "text": {
        const own = wordsOf(part.text);
        if (own.length > 1) others.push(phraseTest(own, part.isPrefix));
        else if (own.length === 1) {
          const forms = part.isPrefix ? prefixes : words;
          for (const form of formsOf(own[0]!)) forms.add(form);
        }
        break;
      }
      case "number":
        others.push(numberTest(part));
        break;
      case "members":
        others.push(membersTest(part));
        break;
      case "group":
        addAll(tags, part.type, part.ids);
        break;
      case "cohort":
        // Its members are unknown: the cohort was deleted.
        others.push(() => false);
        break;
      case "not":
        excluded.push(part.of);
        break;
      default:
        others.push(compileSearch(part));
    }
  }
  if (excluded.length > 0) others.push(negated(allOf(excluded)));
  const tests: EventTest[] = [];
  for (const [field, values] of fields) tests.push((event) => values.has(fieldOf[field](event)));
  for (const [key, values] of tags)
    tests.push(({ tags }) => Object.hasOwn(tags, key) && values.has(tags[key]!));
  if (words.size > 0) tests.push((event) => wordsIn(event).hasAny(words));
  if (prefixes.size > 0) {
    const set = new PrefixSet(prefixes);
    tests.push((event) => wordsIn(event).hasPrefix(set));
  }
  tests.push(...others);
  return tests.length === 1 ? tests[0]! : (event) => tests.some((test) => test(event));
}

/** The parts of a conjunction or disjunction, with those of nested ones of its kind. */
function* flat(kind: "all" | "any", parts: readonly Search[]): Generator<Search> {
  for (const part of parts) {
    if (part.kind === kind) yield* flat(kind, part.of);
    else yield part;
  }
}

function addAll<Key>(sets: Map<Key, Set<string>>, key: Key, values: readonly string[]): void {
  const set = sets.get(key) ?? new Set();
  for (const value of values) set.add(value);
  sets.set(key, set);
}

function negated(test: EventTest): EventTest {
  return (event) => !test(event);
}

const fieldOf: Record<SearchField, (event: Event) => string> = {
  channel: (event) => event.channelId,
  user: (event) => event.userId,
  name: (event) => event.name,
  notify: (event) => String(event.notify),
};

function numberTest({ key, range }: Extract<Search, { kind: "number" }>): EventTest {
  const position = positionIn(range);
  return ({ tags }) => Object.hasOwn(tags, key) && isNumber(tags[key]!) && position(tags[key]!) === 0;
}

function membersTest({ set, withoutTag }: Extract<Search, { kind: "members" }>): EventTest {
  if (withoutTag === undefined) return ({ userId }) => hasUser(set, userId);
  return ({ userId, tags }) => !Object.hasOwn(tags, withoutTag) && hasUser(set, userId);
}

/**
 * Tells whether a text contains words next to each other. With `isPrefix`, the last one only has to be the beginning
 * of a word.
 */
function phraseTest(words: readonly string[], isPrefix: boolean): EventTest {
  const phrase = words.map(formsOf);
  const whole = isPrefix ? phrase.slice(0, -1) : phrase;
  return (event) => {
    const words = wordsIn(event);
    // Most events lack one of the words, which is faster to see.
    return (
      whole.every((forms) => forms.some((form) => words.has(form))) &&
      words.texts.some((text) => containsPhrase(phrase, text, isPrefix))
    );
  };
}

/** @param phrase - the forms of each word */
function containsPhrase(
  phrase: readonly (readonly string[])[],
  text: readonly string[],
  isPrefix: boolean,
): boolean {
  const last = phrase.length - 1;
  for (let start = 0; start + last < text.length; start++) {
    const isMatch = phrase.every((forms, index) => {
      const word = text[start + index]!;
      return isPrefix && index === last ? forms.some((form) => word.startsWith(form)) : forms.includes(word);
    });
    if (isMatch) return true;
  }
  return false;
}

// Cached, because a live event is matched against the filters of many streams.
const cachedWords = new WeakMap<Event, EventWords>();

function wordsIn(event: Event): EventWords {
  let words = cachedWords.get(event);
  if (words === undefined) {
    words = new EventWords(event);
    cachedWords.set(event, words);
  }
  return words;
}
