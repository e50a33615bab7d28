import { formatCompact, formatNumber } from "./locale.ts";

const rules = new Intl.PluralRules("en");

/** A number with its noun: "1 event", "1,204 events". Pass `other` for an irregular plural. */
export function countOf(count: number, one: string, other = `${one}s`): string {
  return `${formatNumber(count)} ${rules.select(count) === "one" ? one : other}`;
}

/** 12,345 → "12.3K": for narrow columns. */
export const shortCount = formatCompact;
