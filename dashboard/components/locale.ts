// The interface is English, so the words in dates are, too. The order of a date, the clock and the separators of numbers
// are those of the browser's region: 21 Nov 2026, 14:05, 1.204 and 1,2K in Germany, Nov 21, 2026, 2:05 PM, 1,204 and
// 1.2K in the US.

/** English as in the browser's region; in regions without an English of their own, international English. */
export const locale = englishOf(navigator.language);

export const hourCycle = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hourCycle;

export type NumberForm = "plain" | "tenths" | "hundredths" | "compact" | "percent" | "finePercent";

/** Formats numbers as a language's region does: "15.085" and "103,7K" for `de-DE`. Without one, that of the browser. */
export function numberFormatter(language?: string): (value: number, form?: NumberForm) => string {
  // With Latin digits, as in all other text.
  const regional = (maximumFractionDigits?: number) =>
    new Intl.NumberFormat(language, { numberingSystem: "latn", maximumFractionDigits });
  // What else a number is written with, such as "K", is a word: it is English.
  const english = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat("en", options);
  const regionals = { plain: regional(), tenths: regional(1), hundredths: regional(2) };
  const englishes = {
    compact: english({ notation: "compact", maximumFractionDigits: 1 }),
    percent: english({ style: "percent", maximumFractionDigits: 0 }),
    finePercent: english({ style: "percent", maximumFractionDigits: 1 }),
  };
  const parts = regionals.tenths.formatToParts(-12_345_678.5);
  const separators = new Map(parts.map(({ type, value }) => [type, value]));
  return (value, form = "plain") =>
    form in regionals
      ? regionals[form as keyof typeof regionals].format(value)
      : englishes[form as keyof typeof englishes]
          .formatToParts(value)
          .map((part) => (isSeparator(part) ? (separators.get(part.type) ?? part.value) : part.value))
          .join("");
}

function isSeparator({ type }: Intl.NumberFormatPart): boolean {
  return type === "decimal" || type === "group";
}

/** All numbers that people see, except those of files, are formatted here. */
export const formatNumber = numberFormatter();

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
