import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { EventFilter } from "../../event/filter.ts";
import { userWords } from "../../event/user-hash.ts";
import type { Bits } from "../bits.ts";
import { valueIn } from "../counter-ranges.ts";
import type { Split } from "../split.ts";
import { TagNumbers } from "./decimal-sums.ts";
import { grown } from "./grown.ts";
import { Texts, type Users } from "./numbered.ts";

/** What an analysis reads of events. */
export type Fields = {
  users?: boolean;
  split?: Split | undefined;
  /** The key of the tag whose numbers it reads. */
  number?: string | undefined;
  /** The type of the groups that events name by a tag. */
  groups?: string | undefined;
};

/** Some events, in the order of time. Arrays have a value for each event, up to `size`. */
export type Batch = {
  size: number;
  ms: Float64Array;
  /** How many events it stands for: more than one only if the scan was asked for buckets. */
  counts: Float64Array;
  /** How often its number is added: less than `counts` if the number is a sum. */
  additions: Float64Array;
  /** Bit n is set if the event matches filter n. */
  masks: Uint8Array;
  /** The user's number in `Users`; 0 for none. */
  users: Uint32Array;
  /** The number in `Texts` of the split's value; 0 for none. With `severalBit`, it stands for several of groups. */
  values: Uint32Array;
  /** The number in `groups` of the group that the event names; 0 for none. */
  named: Uint32Array;
  /** An index of `tagNumbers`; 0 if the event does not have the tag. */
  numbers: Uint32Array;
  tagNumbers: TagNumbers;
  /** 1 if the event is that of the entry before, because it counts for several groups. Only of analyses that count these. */
  repeats?: Uint8Array;
};

/** For each ordinal of a block, an index of the column's different values from 1 on; 0 for none. */
type Indexes = Uint32Array;
export type UserColumn = { indexes: Indexes; hashes: Uint32Array };
/** First the values that are numbers as JavaScript writes them, and then the others. */
export type TextColumn = { indexes: Indexes; doubles: Float64Array; texts: string[] };

/** Columns of a block. Null if no event of the project has a value. */
export type Columns = {
  ms: Float64Array;
  /** How many events each stands for; each for itself without it. */
  counts?: Float64Array | null;
  /** How often the number of each is added; as often as it counts without it. */
  additions?: Float64Array | null;
  users: UserColumn | null;
  split: TextColumn | null;
  number: TextColumn | null;
  groups: TextColumn | null;
};

const noIndexes: Indexes = new Uint32Array();
const firstCapacity = 4_096;

/** Collects batches, and numbers users and values for the whole analysis. */
export class Batches {
  readonly users: Users;
  readonly values = new Texts();
  /** The groups that events name, as their tags write them. */
  readonly groups = new Texts("groups");
  readonly #fields: Fields;
  readonly #filters: readonly EventFilter[];
  /** Of values that were read from rows. */
  readonly #numberIndexes = new Map<string, number>();
  #batch: Batch = {
    size: 0,
    ms: new Float64Array(firstCapacity),
    counts: new Float64Array(firstCapacity),
    additions: new Float64Array(firstCapacity),
    masks: new Uint8Array(firstCapacity),
    users: new Uint32Array(firstCapacity),
    values: new Uint32Array(firstCapacity),
    named: new Uint32Array(firstCapacity),
    numbers: new Uint32Array(firstCapacity),
    tagNumbers: new TagNumbers(),
  };

  /** @param users - those of the analysis, which can have several scans */
  constructor(fields: Fields, filters: readonly EventFilter[], users: Users) {
    this.#fields = fields;
    this.#filters = filters;
    this.users = users;
  }

  /** Returns what was added since the last call. The next call to add reuses its arrays. */
  take(): Batch {
    const taken = { ...this.#batch };
    this.#batch.size = 0;
    this.#batch.tagNumbers = new TagNumbers();
    this.#numberIndexes.clear();
    return taken;
  }

  /** Adds an event if it matches a filter. */
  addEvent(event: Event, ms: number): void {
    let mask = 0;
    for (const [index, filter] of this.#filters.entries()) if (matches(filter, event)) mask |= 1 << index;
    if (mask === 0) return;
    const { users, split, number, groups } = this.#fields;
    const value = split && valueIn(event, split);
    const text = number === undefined ? undefined : valueIn(event, { by: "tag", key: number });
    const group = groups === undefined ? undefined : valueIn(event, { by: "tag", key: groups });
    const batch = this.#batch;
    if (batch.size === batch.ms.length) this.#grow();
    const at = batch.size++;
    batch.ms[at] = ms;
    batch.counts[at] = 1;
    batch.additions[at] = 1;
    batch.masks[at] = mask;
    batch.users[at] = users ? this.users.add(event.userId) : 0;
    batch.values[at] = value === undefined ? 0 : this.values.add(value);
    batch.named[at] = group === undefined ? 0 : this.groups.add(group);
    batch.numbers[at] = text === undefined ? 0 : this.#numberIndex(text);
  }

  /**
   * Adds a block's events from one ordinal to before another. Call `take` before and after.
   *
   * @param matched - for each filter, the ordinals that match
   */
  addBlock(matched: readonly (Bits | null)[], from: number, to: number, columns: Columns): void {
    const { users, split, number, groups, ms, counts } = columns;
    const additions = columns.additions ?? counts;
    const batch = this.#batch;
    while (batch.ms.length - batch.size < to - from) this.#grow();
    const words = matched.filter((bits) => bits !== null);
    if (words.length === 0) return;
    const flags = matched.flatMap((bits, index) => (bits === null ? [] : [1 << index]));
    const userIndexes = users?.indexes ?? noIndexes;
    const valueIndexes = split?.indexes ?? noIndexes;
    const numberIndexes = number?.indexes ?? noIndexes;
    const groupIndexes = groups?.indexes ?? noIndexes;
    // Looked up when the first event has them; 0 before.
    const userNumbers = new Uint32Array((users?.hashes.length ?? 0) / userWords + 1);
    const valueNumbers = numbersFor(split);
    const groupNumbers = numbersFor(groups);
    if (number) batch.tagNumbers = numbersOf(number);
    let at = batch.size;
    for (let index = from >> 5; index <= (to - 1) >> 5; index++) {
      let any = 0;
      for (let word = 0; word < words.length; word++) any |= words[word]![index]!;
      while (any !== 0) {
        const bit = 31 - Math.clz32(any & -any);
        any &= any - 1;
        const ordinal = index * 32 + bit;
        if (ordinal < from || ordinal >= to) continue;
        let mask = 0;
        for (let word = 0; word < words.length; word++)
          if ((words[word]![index]! >>> bit) & 1) mask |= flags[word]!;
        batch.ms[at] = ms[ordinal]!;
        batch.counts[at] = counts ? counts[ordinal]! : 1;
        batch.additions[at] = additions ? additions[ordinal]! : 1;
        batch.masks[at] = mask;
        if (users) {
          const user = userIndexes[ordinal]!;
          if (user !== 0 && userNumbers[user] === 0)
            userNumbers[user] = this.users.addHash(users.hashes, (user - 1) * userWords);
          batch.users[at] = userNumbers[user]!;
        } else batch.users[at] = 0;
        if (split) {
          const value = valueIndexes[ordinal]!;
          if (value !== 0 && valueNumbers[value] === 0)
            valueNumbers[value] = this.values.add(textAt(split, value));
          batch.values[at] = valueNumbers[value]!;
        } else batch.values[at] = 0;
        if (groups) {
          const group = groupIndexes[ordinal]!;
          if (group !== 0 && groupNumbers[group] === 0)
            groupNumbers[group] = this.groups.add(textAt(groups, group));
          batch.named[at] = groupNumbers[group]!;
        } else batch.named[at] = 0;
        batch.numbers[at] = number ? numberIndexes[ordinal]! : 0;
        at++;
      }
    }
    batch.size = at;
  }

  #numberIndex(text: string): number {
    let index = this.#numberIndexes.get(text);
    if (index === undefined) {
      index = this.#batch.tagNumbers.addText(text);
      this.#numberIndexes.set(text, index);
    }
    return index;
  }

  #grow(): void {
    const batch = this.#batch;
    batch.ms = grown(batch.ms);
    batch.counts = grown(batch.counts);
    batch.additions = grown(batch.additions);
    batch.masks = grown(batch.masks);
    batch.users = grown(batch.users);
    batch.values = grown(batch.values);
    batch.named = grown(batch.named);
    batch.numbers = grown(batch.numbers);
  }
}

/** The text of a column at an index, from 1 on. */
function textAt({ doubles, texts }: TextColumn, index: number): string {
  return index <= doubles.length ? String(doubles[index - 1]) : texts[index - 1 - doubles.length]!;
}

/** A number for each index of a column. */
function numbersFor(column: TextColumn | null): Uint32Array {
  return new Uint32Array((column ? column.doubles.length + column.texts.length : 0) + 1);
}

/** The values of a column as numbers, with the column's indexes. */
function numbersOf({ doubles, texts }: TextColumn): TagNumbers {
  const numbers = new TagNumbers();
  numbers.addDoubles(doubles);
  for (const text of texts) numbers.addText(text);
  return numbers;
}
