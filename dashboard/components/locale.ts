// The interface is English, so the words in dates are, too. The order of a date, the clock and the separators of numbers
// are those of the browser's region: 21 Nov 2026, 14:05 and 1.204 in Germany, Nov 21, 2026, 2:05 PM and 1,204 in the US.

/** English as in the browser's region; in regions without an English of their own, international English. */
export const locale = englishOf(navigator.language);

export const hourCycle = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hourCycle;

/** With Latin digits, as in all other text. */
const numbers = new Intl.NumberFormat(undefined, { numberingSystem: "latn" });

export function formatNumber(value: number): string {
  return numbers.format(value);
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
