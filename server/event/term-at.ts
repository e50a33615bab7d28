import { type SearchField, searchFields } from "./search.ts";

/** What is being written at a place of a search, which need not be finished or right. */
export type TermAt = {
  /** Where it stands, in UTF-16 code units. */
  start: number;
  end: number;
  /** What stands before the cursor, without quotes. */
  typed: string;
  /** The field or the tag whose value it is; null where it is the beginning of a term. */
  of: { field: SearchField } | { key: string } | null;
};

const lead = /[\s()-]*/y;
const quoted = /"(?:[^"\\]|\\[\s\S])*"?/y;
const closed = /^"(?:[^"\\]|\\[\s\S])*"$/;
const head = /[^\s"():=,*]*/y;
const value = /[^\s"(),*]*/y;

/** Finds what is being written at a place of a search, or null where nothing can be told. */
export function termAt(q: string, at: number): TermAt | null {
  let position = 0;
  const take = (...patterns: RegExp[]): string => {
    for (const pattern of patterns) {
      pattern.lastIndex = position;
      const found = pattern.exec(q)?.[0] ?? "";
      position += found.length;
      if (found !== "") return found;
    }
    return "";
  };
  const term = (start: number, of: TermAt["of"]): TermAt => {
    // What follows an open quote is not yet meant to be in it.
    const isOpen = q.charAt(start) === '"' && !closed.test(q.slice(start, position));
    return { start, end: isOpen ? at : position, typed: unquoted(q.slice(start, at)), of };
  };

  while (position <= at) {
    take(lead);
    if (position >= at) return { start: at, end: at, typed: "", of: null };
    let start = position;
    const name = take(quoted, head);
    const sign = q.charAt(position);
    const isWithSign = sign === ":" || sign === "=";
    if (position >= at) return isWithSign ? null : term(start, null);
    if (!isWithSign) {
      // What can't stand here is stepped over.
      if (name === "") position++;
      continue;
    }
    const field = searchFields.find((known) => sign === ":" && known === name);
    const of = field ? { field } : sign === "=" ? { key: unquoted(name) } : null;
    do {
      start = ++position;
      take(quoted, value);
      if (position >= at) return of && term(start, of);
    } while (q.charAt(position) === ",");
  }
  return null;
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  return text.slice(1).replace(/\\([\s\S])|"$/g, "$1");
}
