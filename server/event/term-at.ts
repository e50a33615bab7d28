import { type SearchKey, searchFields } from "./search.ts";

/** The term at the cursor of a search, which may be incomplete or invalid. */
export type TermAt = {
  /** Its range, in UTF-16 code units. */
  start: number;
  end: number;
  /** The text before the cursor, without quotes. */
  typed: string;
  /** The field, tag or type of groups that it is a value of; null at the start of a term. */
  of: { field: SearchKey } | { key: string } | { group: string } | null;
};

const lead = /[\s()-]*/y;
const quoted = /"(?:[^"\\]|\\[\s\S])*"?/y;
const closed = /^"(?:[^"\\]|\\[\s\S])*"$/;
const head = /[^\s"():=,*<>]*/y;
const comparison = /[<>]=?[^\s"()]*/y;
const value = /[^\s"(),*]*/y;

/** Finds the term at the cursor; null if that can't be decided. */
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
    // With an open quote, the text after the cursor is not part of the term yet.
    const isOpen = q.charAt(start) === '"' && !closed.test(q.slice(start, position));
    return { start, end: isOpen ? at : position, typed: unquoted(q.slice(start, at)), of };
  };

  while (position <= at) {
    take(lead);
    if (position >= at) return { start: at, end: at, typed: "", of: null };
    let start = position;
    const name = take(quoted, head);
    const operator = q.charAt(position);
    const hasOperator = operator === ":" || operator === "=";
    if (position >= at) return hasOperator ? null : term(start, null);
    if (name !== "" && take(comparison) !== "") {
      // Nothing to suggest for a number.
      if (position >= at) return null;
      continue;
    }
    if (!hasOperator) {
      // Skips invalid characters.
      if (name === "") position++;
      continue;
    }
    const field = searchFields.find((known) => operator === ":" && known === name);
    const other = operator === "=" ? { key: unquoted(name) } : { group: unquoted(name) };
    const of = field ? { field } : other;
    do {
      start = ++position;
      take(quoted, value);
      if (position >= at) return term(start, of);
    } while (q.charAt(position) === ",");
  }
  return null;
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  return text.slice(1).replace(/\\([\s\S])|"$/g, "$1");
}
