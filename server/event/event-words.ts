import type { Event } from "./event.ts";
import { wordsOf } from "./words.ts";

/** Up to this many words, going through them is faster than making a set or sorting them. */
const fewWords = 64;

/** The words of an event's texts, for searches. All searches of an event share one. */
export class EventWords {
  /** The words of each text, in order: of the name, the description and each tag's value. */
  readonly texts: string[][];
  readonly #count: number;
  #set: Set<string> | null = null;
  #sorted: string[] | null = null;

  constructor({ name, description, tags }: Pick<Event, "name" | "description" | "tags">) {
    this.texts = [wordsOf(name)];
    if (description) this.texts.push(wordsOf(description));
    for (const key in tags) this.texts.push(wordsOf(tags[key]!));
    let count = 0;
    for (const words of this.texts) count += words.length;
    this.#count = count;
  }

  has(word: string): boolean {
    if (this.#count > fewWords) return this.#all.has(word);
    return this.texts.some((words) => words.includes(word));
  }

  hasAny(words: ReadonlySet<string>): boolean {
    if (words.size < this.#count) {
      for (const word of words) if (this.has(word)) return true;
      return false;
    }
    return this.texts.some((text) => text.some((word) => words.has(word)));
  }

  /** Whether a word begins with one of the prefixes. */
  hasPrefix(prefixes: PrefixSet): boolean {
    if (this.#count <= fewWords)
      return this.texts.some((text) => text.some((word) => prefixes.matches(word)));
    this.#sorted ??= [...this.#all].sort();
    const sorted = this.#sorted;
    return prefixes.list.some((prefix) => sorted[indexFrom(sorted, prefix)]?.startsWith(prefix));
  }

  get #all(): Set<string> {
    this.#set ??= new Set(this.texts.flat());
    return this.#set;
  }
}

/** Prefixes of words. Whether a word has one takes a binary search, however many there are. */
export class PrefixSet {
  /** In order, without those that begin with another one. */
  readonly list: string[] = [];

  constructor(prefixes: Iterable<string>) {
    for (const prefix of [...prefixes].sort()) {
      const last = this.list.at(-1);
      if (last === undefined || !prefix.startsWith(last)) this.list.push(prefix);
    }
  }

  matches(word: string): boolean {
    // No prefix begins with another one, so only the last one that isn't after the word can be its own.
    const after = indexFrom(this.list, word);
    return this.list[after] === word || (after > 0 && word.startsWith(this.list[after - 1]!));
  }
}

/** The index of the first text that isn't before another one. */
function indexFrom(sorted: readonly string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
