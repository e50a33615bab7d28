/**
 * What a block stores of numbers, as rows beside those of its tokens:
 *
 * - `token.numericKeys`: the keys that have numbers. Those of a few events are listed with their values and ordinals.
 * - `token.numbers`: the directory of a key, with the lowest and the highest number of each bucket, in ascending order.
 * - `token.numberBucket`: a part of a key's values: the ordinals of all, and then those of each.
 * - `token.allNumbers`: the ordinals of all values of a key.
 *
 * So a range that a key never reaches costs one short row. Any other one also costs the buckets within it, or those
 * outside of it if these are fewer. A value stays text, so comparisons are exact.
 */
import type { NumberCondition } from "../event/match.ts";
import { compareNumbers, isInRange, isNumber, positionIn } from "../event/number.ts";
import { exact, token } from "../event/tokens.ts";
import { type Bits, packOrdinals, unionOf } from "./bits.ts";
import { type Steps, sorted } from "./steps.ts";

/** Values in a bucket at most, and buckets of a key up to which buckets are smaller. */
const bucketValuesMax = 256;
const bucketValuesMin = 32;
const bucketsUsual = 64;
/** Keys with numbers on fewer events than this are listed together, if that are not too many. */
const rareBelow = 8;
const rareMax = 2_000;

export type NumberRow = { token: string; ordinals: Uint8Array };
type Values = [value: string, ordinals: readonly number[]][];

/** The first byte of the list of keys: whether it has all keys. */
const isComplete = 1;
const isIncomplete = 0;

/** Collects the numbers of a project's events in a block. */
export class NumberRows {
  readonly #project: number;
  readonly #events: number;
  readonly #keys: Values = [];
  #rare = 0;

  /** @param events - their number in the block */
  constructor(project: number, events: number) {
    this.#project = project;
    this.#events = events;
  }

  /** Returns the rows of a key. Null is a pause. */
  *ofKey(
    key: string,
    values: Iterable<[value: string, ordinals: readonly number[]]>,
    steps: Steps,
  ): Generator<NumberRow | null> {
    const numbers: [double: number, Values[number]][] = [];
    let events = 0;
    for (const entry of values) {
      if (steps.isOver) {
        yield null;
        steps.begin();
      }
      if (!isNumber(entry[0])) continue;
      numbers.push([Number(entry[0]), entry]);
      events += entry[1].length;
    }
    if (numbers.length === 0) return;
    const ascending = yield* sorted(
      numbers,
      ([a, [left]], [b, [right]]) => a - b || compareNumbers(left, right),
      steps,
    );
    const all = ascending.map(([, entry]) => entry);
    if (events < rareBelow) {
      this.#rare += events;
      if (this.#rare <= rareMax) {
        for (const [value, ordinals] of all) this.#keys.push([`${exact(key)}_z${value}`, ordinals]);
      }
      return;
    }
    this.#keys.push([exact(key), []]);
    const own = token.numbers(this.#project, key);
    const perBucket = Math.min(
      bucketValuesMax,
      Math.max(bucketValuesMin, Math.ceil(all.length / bucketsUsual)),
    );
    const buckets: Bounds[] = [];
    for (let from = 0; from < all.length; from += perBucket) {
      const part = all.slice(from, from + perBucket);
      buckets.push(boundsOf(part.map(([value]) => value)));
      yield {
        token: token.numberBucket(own, buckets.length - 1),
        ordinals: packBucket(
          this.#allOf(part),
          part.map(([value, ordinals]) => [value, packOrdinals(ordinals, this.#events)]),
        ),
      };
    }
    yield { token: token.allNumbers(own), ordinals: this.#allOf(all) };
    yield { token: own, ordinals: packDirectory(buckets) };
  }

  /** The ordinals of several values; an event has one. */
  #allOf(values: Values): Uint8Array {
    const ordinals = Uint32Array.from(values.flatMap(([, own]) => own)).sort();
    return packOrdinals([...ordinals], this.#events);
  }

  /** Returns the list of all keys. Call it after `ofKey` for each. */
  keys(): NumberRow {
    const entries: PackedValue[] = this.#keys.map(([text, ordinals]) => [
      text,
      packOrdinals(ordinals, this.#events),
    ]);
    const hasAll = this.#rare <= rareMax;
    const ordinals = packValues(entries, hasAll ? isComplete : isIncomplete);
    return { token: token.numericKeys(this.#project), ordinals };
  }
}

/** Reads a row of a block. */
type ReadRow = (token: string) => Uint8Array | undefined;

/** The ordinals of a block's events with a number in a range; undefined if a row is missing. */
export function ordinalsWithNumber(
  condition: NumberCondition,
  events: number,
  read: ReadRow,
): Bits | null | undefined {
  const { projectId, key, range } = condition;
  const keys = read(token.numericKeys(projectId));
  if (!keys?.length) return undefined;
  const own = exact(key);
  const sets: Uint8Array[] = [];
  let hasDirectory = false;
  for (const [text, ordinals] of valuesIn(keys, 1)) {
    if (text === own) hasDirectory = true;
    else if (text.startsWith(`${own}_z`) && isInRange(range, text.slice(own.length + 2))) sets.push(ordinals);
  }
  if (!hasDirectory) {
    if (sets.length === 0 && keys[0] !== isComplete) return undefined;
    return unionOf(sets, events);
  }
  const plan = planOf(condition, read(token.numbers(projectId, key)));
  if (plan === undefined) return undefined;
  const position = positionIn(range);
  for (const { token, isWhole } of plan.buckets) {
    const row = read(token);
    if (row === undefined) return undefined;
    if (isWhole) sets.push(allIn(row));
    else
      for (const [value, ordinals] of numbersIn(row)) {
        if ((position(value) === 0) !== plan.isExcluding) sets.push(ordinals);
      }
  }
  const found = unionOf(sets, events);
  if (!plan.isExcluding) return found;
  const all = read(token.allNumbers(token.numbers(projectId, key)));
  return all && without(unionOf([all], events)!, found);
}

function without(all: Bits, excluded: Bits | null): Bits | null {
  if (excluded === null) return all;
  const left = all.map((word, index) => word & ~excluded[index]!);
  return left.some((word) => word !== 0) ? left : null;
}

/** The rows to read before a condition is evaluated, and then the others that they name. */
export function directoryTokens({ projectId, key }: NumberCondition): string[] {
  return [token.numericKeys(projectId), token.numbers(projectId, key)];
}

export function bucketTokens(condition: NumberCondition, read: ReadRow): string[] {
  const numbers = token.numbers(condition.projectId, condition.key);
  const plan = planOf(condition, read(numbers));
  if (!plan) return [];
  const tokens = plan.buckets.map(({ token }) => token);
  return plan.isExcluding ? [...tokens, token.allNumbers(numbers)] : tokens;
}

/** The buckets to read: those within a range, or all that are not entirely in it, which are excluded. */
type Plan = { isExcluding: boolean; buckets: { token: string; isWhole: boolean }[] };

function planOf(
  { projectId, key, range }: NumberCondition,
  directory: Uint8Array | undefined,
): Plan | undefined {
  if (!directory) return undefined;
  const position = positionIn(range);
  const text = asText(directory);
  // Most ranges that have no number in a block are beyond its first or last one.
  const [first, last] = [boundsIn(text, 0), boundsIn(text, text.lastIndexOf("\n") + 1)];
  if ((first && position(first.min) > 0) || (last && position(last.max) < 0)) {
    return { isExcluding: false, buckets: [] };
  }
  const numbers = token.numbers(projectId, key);
  const buckets = text.split("\n").flatMap((line, bucket) => (line === "" ? [] : [{ line, bucket }]));
  const boundsAt = (index: number) => boundsIn(buckets[index]!.line, 0)!;
  const from = bisect(buckets.length, (index) => position(boundsAt(index).max) >= 0);
  const to = bisect(buckets.length, (index) => position(boundsAt(index).min) > 0);
  // Only the first and the last one can be partly within the range.
  const isPartial = (index: number) => {
    if (index !== from && index !== to - 1) return false;
    const { min, max } = boundsAt(index);
    return position(min) !== 0 || position(max) !== 0;
  };
  const within = buckets.map((_, index) => index).slice(from, Math.max(from, to));
  const partial = within.filter(isPartial);
  const isExcluding = buckets.length - within.length + partial.length < within.length;
  const read = isExcluding
    ? [...buckets.keys()].filter((index) => index < from || index >= to || partial.includes(index))
    : within;
  return {
    isExcluding,
    buckets: read.map((index) => ({
      token: token.numberBucket(numbers, buckets[index]!.bucket),
      isWhole: !partial.includes(index),
    })),
  };
}

/** The first index at which `holds`, which does for all that follow; `length` if there is none. */
function bisect(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether a block's row is one of those above, rather than a token's. */
export function isNumberRow(token: string): boolean {
  return /^[0-9]+[rv]/.test(token);
}

/** The tokens in the index of the values that a row contains, by value. */
export function valueTokens(row: NumberRow): Map<string, string> {
  const tokens = new Map<string, string>();
  const [, project, kind] = /^([0-9]+)([rv])/.exec(row.token)!;
  const own = row.token.slice(project!.length + 1);
  const ofKey = own.slice(0, own.lastIndexOf("_z"));
  if (kind === "v" && !isNumberBucket(row.token)) return tokens;
  if (kind === "v") {
    for (const [value] of numbersIn(row.ordinals)) tokens.set(value, `${project}t${ofKey}_z${exact(value)}`);
    return tokens;
  }
  for (const [text] of valuesIn(row.ordinals, 1)) {
    const split = text.indexOf("_z");
    if (split >= 0) tokens.set(text, `${project}t${text.slice(0, split)}_z${exact(text.slice(split + 2))}`);
  }
  return tokens;
}

/**
 * Removes values from a row, and returns what to store instead: the row, and the directory of its key.
 *
 * @param directory - null if the row is the list of keys
 */
export function withoutValues(
  row: NumberRow,
  gone: ReadonlySet<string>,
  directory: NumberRow | null,
): NumberRow[] {
  const isLeft = ([text]: PackedValue) => !gone.has(text);
  if (!directory) {
    const left = [...valuesIn(row.ordinals, 1)].filter(isLeft);
    return [{ token: row.token, ordinals: packValues(left, row.ordinals[0]!) }];
  }
  const values = [...numbersIn(row.ordinals)].filter(isLeft);
  // The events that are gone have no rows, so their ordinals do no harm.
  const changed: NumberRow = { token: row.token, ordinals: packBucket(allIn(row.ordinals), values) };
  const buckets = boundsOfAll(asText(directory.ordinals));
  const index = Number(row.token.slice(row.token.lastIndexOf("_z") + 2));
  buckets[index] = values.length > 0 ? boundsOf(values.map(([text]) => text)) : null;
  return [changed, { token: directory.token, ordinals: packDirectory(buckets) }];
}

/** The directory of a bucket; null if the row has none. */
export function directoryOf(token: string): string | null {
  return isNumberBucket(token) ? token.slice(0, token.lastIndexOf("_z")) : null;
}

export function isNumberBucket(token: string): boolean {
  return /^[0-9]+v.*_z[0-9]+$/.test(token);
}

/** The lowest and highest number of a bucket. */
type Bounds = { min: string; max: string };

/** @param values - ascending */
function boundsOf(values: readonly string[]): Bounds {
  return { min: values[0]!, max: values.at(-1)! };
}

function packDirectory(buckets: readonly (Bounds | null)[]): Uint8Array {
  return Buffer.from(buckets.map((bounds) => (bounds ? `${bounds.min} ${bounds.max}` : "")).join("\n"));
}

/** The bucket of a directory's line; null if it has no values. */
function boundsIn(directory: string, at: number): Bounds | null {
  const end = directory.indexOf("\n", at);
  const [min, max] = directory.slice(at, end < 0 ? undefined : end).split(" ");
  return min && max ? { min, max } : null;
}

function boundsOfAll(directory: string): (Bounds | null)[] {
  return directory.split("\n").map((line) => boundsIn(line, 0));
}

/** A value, and its ordinals in their stored form (bits.ts). */
type PackedValue = [value: string, ordinals: Uint8Array];

/** Each value and its ordinals, with their lengths before them. */
function packValues(values: readonly PackedValue[], ...flags: number[]): Uint8Array {
  const parts: Uint8Array[] = [Uint8Array.from(flags)];
  for (const [value, ordinals] of values) {
    const text = Buffer.from(value);
    parts.push(packLength(text.length), text, packLength(ordinals.length), ordinals);
  }
  return Buffer.concat(parts);
}

function* valuesIn(row: Uint8Array, from = 0): Generator<PackedValue> {
  for (const [start, end, ordinals] of partsIn(row, from)) yield [asText(row.subarray(start, end)), ordinals];
}

/** Like `valuesIn`, for a bucket. Numbers are ASCII, so that one text can be made of all, which is much faster. */
function* numbersIn(row: Uint8Array): Generator<PackedValue> {
  const text = Buffer.from(row.buffer, row.byteOffset, row.length).toString("latin1");
  let isFirst = true;
  for (const [start, end, ordinals] of partsIn(row)) {
    if (!isFirst) yield [text.slice(start, end), ordinals];
    isFirst = false;
  }
}

/** A bucket begins with the ordinals of all its values, in the place of a value without text. */
function packBucket(all: Uint8Array, values: readonly PackedValue[]): Uint8Array {
  return packValues([["", all], ...values]);
}

function allIn(bucket: Uint8Array): Uint8Array {
  const [first] = partsIn(bucket);
  return first![2];
}

function* partsIn(
  row: Uint8Array,
  from = 0,
): Generator<[valueStart: number, valueEnd: number, ordinals: Uint8Array]> {
  let at = from;
  const readLength = (): number => {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = row[at++]!;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return length;
  };
  while (at < row.length) {
    const valueLength = readLength();
    const start = at;
    at += valueLength;
    const length = readLength();
    at += length;
    yield [start, start + valueLength, row.subarray(at - length, at)];
  }
}

function packLength(length: number): Uint8Array {
  const bytes: number[] = [];
  let rest = length;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function asText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString();
}
