import { nearest } from "../validation/nearest.ts";

/** How well a text matches what was typed, the best first. */
export const ranks = { same: 0, start: 1, word: 2, inside: 3, near: 4 } as const;
export type Rank = (typeof ranks)[keyof typeof ranks];

/** Fewer characters are inside of nearly everything. */
const insideMin = 2;

/** A text without case and accents, as words are compared. */
export function folded(text: string): string {
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

/** The text that was probably meant, also if one of its words was; null if none is close. */
export function nearestText(typed: string, texts: Iterable<string>): string | null {
  const all = [...texts];
  const whole = nearest(typed, all, mistakesIn(typed));
  if (whole !== null) return whole;
  const word = nearestWord(typed, all);
  return word === null ? null : all.find((text) => splitWords(text).includes(word))!;
}

/** The word of some texts that was probably meant; null if none is close. */
export function nearestWord(typed: string, texts: Iterable<string>): string | null {
  const words = new Set([...texts].flatMap(splitWords));
  return nearest(typed, words, mistakesIn(typed));
}

/** How many letters may be wrong: among many texts, some are near any short one. */
function mistakesIn({ length }: string): number {
  return Math.min(3, Math.max(1, Math.floor(length / 3)));
}

function splitWords(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}
