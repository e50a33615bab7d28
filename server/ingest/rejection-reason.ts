import type { Problem } from "../core/problems.ts";

const reasonCharacters = 300;
/** Faults that a reason names. An event can have a thousand. */
const faultsMax = 5;

/** What differs between events that are rejected for the same: values, lengths, the place in a text. */
const particulars: readonly [RegExp, string][] = [
  [/ Send it as "[\s\S]*"\.$/, ""],
  [/(at most [\d,]+ (?:characters|tags)), not [\d,]+\.$/, "$1."],
  [/ \(found [^()]*\)\.$/, "."],
  [/^(The body|The line) is not valid JSON: [\s\S]*$/, "$1 is not valid JSON."],
];

/** Why an event was rejected, in a form that groups it with all that were rejected for the same. */
export function rejectionReason({ detail, errors }: Pick<Problem, "detail" | "errors">): string {
  const details = errors?.length ? errors.map((fault) => fault.detail) : [detail];
  const reasons = [...new Set(details.slice(0, faultsMax).map(withoutParticulars))];
  // Not every storage can keep NUL.
  return reasons.join(" ").replaceAll("\0", "\ufffd").slice(0, reasonCharacters).toWellFormed();
}

function withoutParticulars(detail: string): string {
  return particulars.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), detail);
}
