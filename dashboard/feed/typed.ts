import { parseSearch, SearchError } from "../../server/event/search.ts";

/** Shorter beginnings of words are in nearly every event. One character of other scripts can be a word. */
const prefixMin = 2;

/** A word at the end, which may be the beginning of another one. */
const lastWord = /(?:^|[\s(-])(?!OR$)([^\s"():=,*<>-][^\s"():=,*<>]*)$/;

/**
 * The search for text that is still being typed. Its last word is a prefix. A value that isn't finished, or isn't valid
 * yet, is left out. A space, a quote or a parenthesis finishes the last term.
 */
export function searchSoFar(typed: string): string {
  const [, word = ""] = lastWord.exec(typed) ?? [];
  const isLong = word.length >= prefixMin || /[^\0-\x7f]/.test(word);
  const isFinished = /[\s")*]$/.test(typed);
  const whole = isFinished ? [typed] : isLong ? prefixes(typed) : [];
  // Without the last term, then without the one before, and so on.
  const shorter = [...typed.matchAll(/\s+/g)].reverse().map(({ index }) => typed.slice(0, index));
  return [...whole, ...shorter].find(isValid)?.trim() ?? "";
}

/** The search after Enter: the last word stays the prefix that it was shown as. */
export function entered(typed: string): string {
  return (lastWord.test(typed) ? prefixes(typed) : []).find(isValid) ?? typed;
}

/** With the last word as a prefix, also in an open quote. */
function prefixes(typed: string): string[] {
  return [`${typed}*`, `${typed}"*`];
}

function isValid(search: string): boolean {
  try {
    parseSearch(search);
    return true;
  } catch (error) {
    if (error instanceof SearchError) return false;
    throw error;
  }
}
