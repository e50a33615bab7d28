import { nearest } from "../validation/nearest.ts";

/** How well a text matches what was typed, the best first. */
export const ranks = { same: 0, start: 1, word: 2, inside: 3, near: 4 } as const;
export type Rank = (typeof ranks)[keyof typeof ranks];

/** Fewer characters are inside of nearly everything. */
const insideMin = 2;

/** A text without case and accents, as words are compared. */
function folded(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Where a text contains what was typed, without regard to case and accents: at the start, of a word, or inside. */
export function rankOf(text: string, typed: string): Rank | null {
  const whole = folded(text);
  const part = folded(typed);
  if (whole.startsWith(part)) return whole.length === part.length ? ranks.same : ranks.start;
  let isInside = false;
  for (let at = whole.indexOf(part, 1); at > 0; at = whole.indexOf(part, at + 1)) {
    if (!/[\p{L}\p{N}]/u.test(whole.charAt(at - 1))) return ranks.word;
    isInside = true;
  }
  return isInside && [...part].length >= insideMin ? ranks.inside : null;
}

/** The text that was probably meant, also if one of its words was or the beginning of one; null if none is close. */
export function nearestText(typed: string, texts: Iterable<string>): string | null {
  const all = [...texts];
  const whole = nearest(typed, all, mistakesIn(typed));
  if (whole !== null) return whole;
  const parts = new Map<string, string>();
  for (const text of all)
    for (const [part] of partsOf(text, typed.length)) if (!parts.has(part)) parts.set(part, text);
  const part = nearest(typed, parts.keys(), mistakesIn(typed));
  return part === null ? null : parts.get(part)!;
}

/** The word of some texts that was probably meant, or else its beginning; null if none is close. */
export function nearestWord(
  typed: string,
  texts: Iterable<string>,
): { word: string; isWhole: boolean } | null {
  const parts = [...texts].flatMap((text) => partsOf(text, typed.length));
  for (const isWhole of [true, false]) {
    const words = parts.filter(([, whole]) => whole === isWhole).map(([word]) => word);
    const word = nearest(typed, words, mistakesIn(typed));
    if (word !== null) return { word, isWhole };
  }
  return null;
}

/** How many letters may be wrong: among many texts, some are near any short one. */
function mistakesIn({ length }: string): number {
  return Math.min(3, Math.max(1, Math.floor(length / 3)));
}

/** The words of a text, and the beginnings of longer ones, each with whether it is whole. */
function partsOf(text: string, length: number): [part: string, isWhole: boolean][] {
  const words = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const longer = words.filter((word) => word.length > length);
  return [
    ...words.map((word): [string, boolean] => [word, true]),
    ...longer.map((word): [string, boolean] => [word.slice(0, length), false]),
  ];
}
