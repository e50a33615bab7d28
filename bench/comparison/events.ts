/** Events of the comparison: those of the benchmark, in a short form and with about a kilobyte of JSON. */
import { eventOf, type SentEvent } from "../events.ts";
import { dayMs, monthDays } from "../month.ts";

/** The bytes of an event's JSON. */
export const sizes = { short: 100, long: 1_000 } as const;
export type Size = keyof typeof sizes;

export type TextEvent = SentEvent & { description?: string };

const syllables = ["ka", "lo", "mi", "ne", "pu", "ra", "so", "ti", "va", "zu"];
const wordsMax = 5_000;

/** A made-up word of four syllables. */
export function wordOf(number: number): string {
  return [...String(number % 10_000).padStart(4, "0")].map((digit) => syllables[Number(digit)]).join("");
}

/** A text of at least so many characters, the same for the same number. Few of its words are frequent, as in real texts. */
function textOf(number: number, characters: number): string {
  let state = (number * 2_654_435_761) >>> 0;
  let text = "";
  while (text.length < characters) {
    // A linear congruential generator, with the constants of Numerical Recipes.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${text === "" ? "" : " "}${wordOf(Math.floor(wordsMax * (state / 2 ** 32) ** 3))}`;
  }
  return text;
}

/** The JSON of an event for single posts, exactly as long as its size says. */
export function bodyOf(number: number, size: Size): string {
  const { channel, name, userId } = eventOf(number);
  const empty = { channel, name, userId, description: "" };
  const missing = sizes[size] - JSON.stringify(empty).length;
  if (missing < 0) throw new Error(`Event ${number} is longer than ${sizes[size]} bytes.`);
  return JSON.stringify({
    ...empty,
    description: textOf(number, missing).slice(0, missing).replace(/ $/, "o"),
  });
}

/** One stored event in this many has these two words, which no other has. */
export const rareEvery = 9_973;
export const rareWord = "chargeback";

/**
 * A stored event. Each has a millisecond of its own, so that every store gives its events in the same order.
 *
 * @param count - how many there are in the month
 */
export function storedEventOf(
  number: number,
  size: Size,
  month: { startMs: number; count: number },
): TextEvent & { createdAt: string } {
  const event: TextEvent = eventOf(number);
  const words: string[] = [];
  if (number % rareEvery === 5) words.push(`${rareWord} disputed`);
  if (size === "long") {
    words.push(textOf(number, 560));
    event.tags = {
      ...event.tags,
      path: `/shop/${wordOf(number % 300)}/${wordOf((number * 7) % 40)}`,
      referrer: `https://${wordOf((number * 3) % 150)}.example.com/`,
      browser: `Mozilla/5.0 (X11; Linux x86_64) Browser/${100 + (number % 12)}.0`,
      country: wordOf(number % 60)
        .slice(0, 2)
        .toUpperCase(),
      version: `2.${number % 9}.${number % 17}`,
    };
  }
  if (words.length > 0) event.description = words.join(" ");
  const time = Math.floor(month.startMs + (number / month.count) * monthDays * dayMs);
  return { ...event, createdAt: new Date(time).toISOString() };
}
