import type { Event } from "./event.ts";
import { isInRange } from "./number.ts";
import type { Search } from "./search.ts";
import { formsOf, wordsOf } from "./words.ts";

/**
 * Whether a search finds an event, term by term. `compileSearch` says the same, faster for many events and with more
 * code, which the dashboard's first load has no room for; a property test compares the two.
 */
export function matchesSearch(search: Search, event: Event): boolean {
  switch (search.kind) {
    case "all":
      return search.of.every((part) => matchesSearch(part, event));
    case "any":
      return search.of.some((part) => matchesSearch(part, event));
    case "not":
      return !matchesSearch(search.of, event);
    case "field": {
      const { channelId: channel, userId: user, name, notify } = event;
      return search.values.includes({ channel, user, name, notify: `${notify}` }[search.field]);
    }
    case "cohort":
    case "group":
    case "members":
      // A browser doesn't know who is in a cohort or group. Whoever asks here has asked the server first.
      return false;
    case "tag":
      return Object.hasOwn(event.tags, search.key) && search.values.includes(event.tags[search.key]!);
    case "number":
      return Object.hasOwn(event.tags, search.key) && isInRange(search.range, event.tags[search.key]!);
    case "text": {
      const phrase = wordsOf(search.text).map(formsOf);
      return [event.name, event.description ?? "", ...Object.values(event.tags)].some((text) =>
        hasPhrase(wordsOf(text), phrase, search.isPrefix),
      );
    }
  }
}

/**
 * Whether words stand next to each other, each in one of its forms. With `isPrefix`, the last one only has to be the
 * beginning of a word.
 */
function hasPhrase(words: string[], phrase: string[][], isPrefix: boolean): boolean {
  const last = phrase.length - 1;
  return (
    words.some((_, start) =>
      phrase.every((forms, index) => {
        const word = words[start + index];
        return forms.some((form) => (isPrefix && index === last ? word?.startsWith(form) : word === form));
      }),
    ) && last >= 0
  );
}
