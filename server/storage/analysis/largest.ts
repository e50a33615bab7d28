import type { Turns } from "../../scheduling/turns.ts";

/** Counts that are looked at between two looks at the clock. */
const countsOfTurn = 4_096;

type Largest = {
  /** The numbers of the texts with the largest counts, largest first; of equal counts, the lesser text first. */
  numbers: number[];
  /** How many texts have a count, and the sum of their counts. */
  texts: number;
  total: number;
};

/**
 * Selects the largest counts of texts without sorting all, and yields to other work.
 *
 * @param counts - by the number of the text, from 1 on
 * @param most - how many are selected
 * @param accepts - whether a text can be selected
 */
export async function largestOf(
  counts: Uint32Array | Float64Array,
  texts: readonly string[],
  most: number,
  turns: Turns,
  accepts: (text: string) => boolean = () => true,
): Promise<Largest> {
  const isBefore = (a: number, b: number) =>
    counts[a]! > counts[b]! || (counts[a] === counts[b] && texts[a - 1]! < texts[b - 1]!);
  const largest: Largest = { numbers: [], texts: 0, total: 0 };
  const { numbers } = largest;
  for (let number = 1; number <= texts.length; number++) {
    if (number % countsOfTurn === 0) await turns.next();
    const count = counts[number] ?? 0;
    if (count === 0 || !accepts(texts[number - 1]!)) continue;
    largest.texts++;
    largest.total += count;
    let place = numbers.length;
    while (place > 0 && isBefore(number, numbers[place - 1]!)) place--;
    if (place >= most) continue;
    numbers.splice(place, 0, number);
    if (numbers.length > most) numbers.pop();
  }
  return largest;
}
