import { formatCompact, formatNumber } from "./locale.ts";

const rules = new Intl.PluralRules("en");

/** A number with its noun: "1 event", "1,204 events". Pass `other` for an irregular plural. */
export function countOf(count: number, one: string, other = `${one}s`): string {
  return `${formatNumber(count)} ${rules.select(count) === "one" ? one : other}`;
}

/** 12,345 → "12.3K": for narrow columns. */
export const shortCount = formatCompact;

const unreadMax = 99;

/** How many are unread, as badges and titles say it: "99+" for more than that. */
export function unreadText(count: number): string {
  return count > unreadMax ? `${unreadMax}+` : String(count);
}
