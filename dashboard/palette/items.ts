import type { ReactNode } from "react";

const groups = [
  "Recent",
  "Channels",
  "Views",
  "Boards",
  "Pages",
  "Actions",
  "Projects",
  "Events",
  "Users",
] as const;
export type Group = (typeof groups)[number];

/** An entry of the palette. */
export type Item = {
  /** The same each time the palette is open. */
  id: string;
  group: Group;
  label: string;
  /** Shown beside the label, and found as well. */
  detail?: string | undefined;
  /** Other words by which it is found. */
  aliases?: string;
  /** How many events it has. */
  events?: number | undefined;
  icon: ReactNode;
  run: () => unknown;
  /** The palette stays open. */
  stays?: boolean;
};

/** How many of a group are shown, without and with something typed. Pages and actions are few enough. */
const shownMax = { before: 5, typed: 8 };

export type ItemGroup = { group: Group; items: Item[]; isNamed: boolean };

/**
 * Items in which every word that was typed occurs, at the start of a word or inside one, by group: the best match first.
 * Everything if nothing was typed. `isNamed` is whether the best match has the words in its label.
 */
export function matchingGroups(items: readonly Item[], typed: string): ItemGroup[] {
  const words = foldedWords(typed);
  const max = words.length === 0 ? shownMax.before : shownMax.typed;
  const ranked = items.flatMap((item) => {
    const rank = words.length === 0 ? 0 : rankOf(item, words);
    return rank === null ? [] : [{ item, rank }];
  });
  return groups
    .map((group, place) => {
      const own = ranked.filter(({ item }) => item.group === group).sort((a, b) => a.rank - b.rank);
      const shown = group === "Pages" || group === "Actions" ? own : own.slice(0, max);
      return { group, place, best: own[0]?.rank ?? 0, items: shown.map(({ item }) => item) };
    })
    .filter(({ items }) => items.length > 0)
    .sort((a, b) => a.best - b.best || a.place - b.place)
    .map(({ group, items, best }) => ({ group, items, isNamed: best <= ranks.word }));
}

/** Positions of a match, the best first. */
const ranks = { whole: 0, start: 1, word: 2, alias: 3, inside: 4 };

/** The rank of an item's match; null if a word doesn't occur. */
function rankOf({ group, label, detail = "", aliases = "" }: Item, words: readonly string[]): number | null {
  const own = foldedWords(label);
  if (own.join(" ").startsWith(words.join(" ")))
    return own.length === words.length ? ranks.whole : ranks.start;
  const others = foldedWords(`${detail} ${aliases}`);
  // "Log out" is as good a name as "Sign out"; what a page has is not its name.
  const alias = group === "Actions" ? ranks.word : ranks.alias;
  let rank = ranks.whole;
  for (const word of words) {
    const isIn = (texts: string[]) => texts.some((text) => text.includes(word));
    if (own.some((each) => each.startsWith(word))) rank = Math.max(rank, ranks.word);
    else if (others.some((each) => each.startsWith(word))) rank = Math.max(rank, alias);
    else if (word.length > 1 && isIn(own)) rank = Math.max(rank, ranks.inside);
    else return null;
  }
  return rank;
}

function foldedWords(text: string): string[] {
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}
