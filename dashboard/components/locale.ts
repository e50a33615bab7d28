// The interface is English, so the words in dates are, too. The order of a date, the clock and the separators of numbers
// are those of the browser's region: 21 Nov 2026, 14:05, 1.204 and 1,2K in Germany, Nov 21, 2026, 2:05 PM, 1,204 and
// 1.2K in the US.

/** English as in the browser's region; in regions without an English of their own, international English. */
export const locale = englishOf(navigator.language);

export const hourCycle = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hourCycle;

/** With Latin digits, as in all other text. */
const numbers = numbersWith(3);
const amounts = numbersWith(2);
const tenths = numbersWith(1);
const wholes = numbersWith(0);

function numbersWith(maximumFractionDigits: number): Intl.NumberFormat {
  return new Intl.NumberFormat(undefined, { numberingSystem: "latn", maximumFractionDigits });
}

export function formatNumber(value: number): string {
  return numbers.format(value);
}

/** "12,345.67": with at most two decimals. */
export function formatAmount(value: number): string {
  return amounts.format(value);
}

/** "1.3": with at most one decimal. */
export function formatTenths(value: number): string {
  return tenths.format(value);
}

const units = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
] as const;

/** "12.3K", for narrow places; in Germany "12,3K". */
export function formatCompact(value: number): string {
  const size = Math.abs(value);
  // Rounded to tenths of the unit below: 999,950 is 1M, not 1,000K.
  const unit = units.find(([each]) => Math.round((size / each) * 10_000) >= 10_000);
  if (!unit) return (size < 10 ? amounts : tenths).format(value);
  const [each, letter] = unit;
  return `${tenths.format(value / each)}${letter}`;
}

/** "42%", and "0.4%" for small shares. */
export function formatShare(share: number): string {
  return `${(share > 0 && share < 0.1 ? tenths : wholes).format(share * 100)}%`;
}

function englishOf(language: string): string {
  try {
    const { region = "US" } = new Intl.Locale(language).maximize();
    const own = `en-${region}`;
    const isKnown = new Intl.DateTimeFormat(own).resolvedOptions().locale === own;
    return isKnown || region === "US" ? own : "en-001";
  } catch {
    // Some systems' languages are no valid tags, such as "en-US@posix".
    return "en";
  }
}

/** A text within other text, whose direction is its own: https://www.w3.org/International/questions/qa-bidi-unicode-controls */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}
