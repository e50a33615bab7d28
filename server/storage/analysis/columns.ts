/**
 * What a block stores for analyses: for each project with enough events in it, columns of channel, name, user and tags.
 * A column has an index of its different values for each event, and these values: texts as they are, so that an erased
 * one would be found, numbers as doubles, and of users only hashes.
 */
import { numberOf } from "../../event/number.ts";
import { userHash, userWords } from "../../event/user-hash.ts";
import type { Split } from "../split.ts";
import { type Steps, sorted } from "../steps.ts";
import type { Columns, Fields, TextColumn, UserColumn } from "./batch.ts";

/** A project with fewer events in a block has no columns there: its rows are read. */
const eventsMin = 64;
/** Bytes for each event that a project's columns may take. Of tags, the smallest columns come first. */
const bytesPerEvent = 25;
/** Higher levels of zstd take longer and save little. */
const compressionLevel = 1;
const headBytes = 12;
const doubleBytes = 8;

/** A row of a block. The marker, of project 0, is in each block with columns; `list` is in each project with columns. */
export type ColumnRow = { projectId: number; name: string; bytes: Uint8Array };

export const columnName = {
  list: "",
  channel: "c",
  name: "n",
  user: "u",
  tag: (key: string) => `t${key}`,
};

export const marker: ColumnRow = { projectId: 0, name: columnName.list, bytes: new Uint8Array() };

/** Ordinals by value. A single one has no array. */
type Ordinals = ReadonlyMap<string, number | readonly number[]>;

export type ColumnSource = {
  every: readonly number[];
  channels: Ordinals;
  names: Ordinals;
  users: Ordinals;
  tags: ReadonlyMap<string, Ordinals>;
};

/**
 * The columns of a project in a block of so many events. Each is made when it is asked for, in steps. Null is a pause.
 *
 * Invariant: columns are not read of milliseconds that changed since their block was begun. A removal marks its block, and
 * an erasure deletes the columns of marked blocks; they are built again. Checked by
 * `server/storage/analysis/analysis.test.ts`.
 */
export function* columnsOf(
  projectId: number,
  source: ColumnSource,
  events: number,
  steps: Steps,
): Generator<ColumnRow | null> {
  if (source.every.length < eventsMin) return;
  const rowOf = (name: string, bytes: Uint8Array): ColumnRow => ({ projectId, name, bytes });
  let bytes = 0;
  for (const [name, make] of [
    [columnName.channel, () => packTexts(source.channels, events, steps)],
    [columnName.name, () => packTexts(source.names, events, steps)],
    [columnName.user, () => packUsers(source.users, events, steps)],
  ] as const) {
    const packed = yield* make();
    bytes += packed.length;
    yield rowOf(name, packed);
  }
  const bytesMax = bytesPerEvent * source.every.length;
  const sized: { key: string; values: Ordinals; size: number }[] = [];
  for (const [key, values] of source.tags) {
    sized.push({ key, values, size: sizeOf(values) });
    if (!steps.isOver) continue;
    yield null;
    steps.begin();
  }
  sized.sort((a, b) => a.size - b.size);
  let isComplete = true;
  for (const { key, values, size } of sized) {
    const packed = bytes + size <= bytesMax ? yield* packTexts(values, events, steps) : null;
    if (packed === null || bytes + packed.length > bytesMax) {
      isComplete = false;
      break;
    }
    bytes += packed.length;
    yield rowOf(columnName.tag(key), packed);
  }
  yield rowOf(columnName.list, Uint8Array.of(isComplete ? 1 : 0));
}

function sizeOf(values: Ordinals): number {
  let size = 0;
  for (const value of values.keys()) size += Math.min(value.length + 3, doubleBytes);
  return size;
}

function* packTexts(values: Ordinals, events: number, steps: Steps): Generator<null, Uint8Array> {
  const numbers: [double: number, ordinals: number | readonly number[]][] = [];
  const others: [text: string, ordinals: number | readonly number[]][] = [];
  for (const [text, ordinals] of values) {
    const double = numberOf(text);
    if (double !== null && String(double) === text) numbers.push([double, ordinals]);
    else others.push([text, ordinals]);
    if (!steps.isOver) continue;
    yield null;
    steps.begin();
  }
  const ascending = yield* sorted(numbers, ([a], [b]) => a - b, steps);
  const doubles = compressed(Float64Array.from(ascending, ([double]) => double));
  yield null;
  const texts = Buffer.from(JSON.stringify(others.map(([text]) => text)));
  yield null;
  const lists = [...ascending, ...others].map(([, ordinals]) => ordinals);
  return pack(lists, events, doubles, texts);
}

function* packUsers(users: Ordinals, events: number, steps: Steps): Generator<null, Uint8Array> {
  const known = [...users].filter(([userId]) => userId !== "");
  const hashes = new Uint32Array(known.length * userWords);
  for (const [index, [userId]] of known.entries()) {
    hashes.set(userHash(userId), index * userWords);
    if (!steps.isOver) continue;
    yield null;
    steps.begin();
  }
  return pack(
    known.map(([, ordinals]) => ordinals),
    events,
    new Uint8Array(hashes.buffer),
    new Uint8Array(),
  );
}

/** The indexes, compressed, and two parts with values. The head has the lengths of the first two parts. */
function pack(
  lists: (number | readonly number[])[],
  events: number,
  values: Uint8Array,
  otherValues: Uint8Array,
): Uint8Array {
  const width = lists.length < 2 ** 8 ? 1 : lists.length < 2 ** 16 ? 2 : 4;
  const indexes = new widths[width](events);
  for (const [at, ordinals] of lists.entries()) {
    if (typeof ordinals === "number") indexes[ordinals] = at + 1;
    else for (const ordinal of ordinals) indexes[ordinal] = at + 1;
  }
  const packedIndexes = compressed(indexes);
  const packed = new Uint8Array(headBytes + packedIndexes.length + values.length + otherValues.length);
  new Uint32Array(packed.buffer, 0, 3).set([width, packedIndexes.length, values.length]);
  packed.set(packedIndexes, headBytes);
  packed.set(values, headBytes + packedIndexes.length);
  packed.set(otherValues, headBytes + packedIndexes.length + values.length);
  return packed;
}

const widths = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array } as const;

function compressed({ buffer }: { buffer: ArrayBuffer }): Uint8Array {
  return Bun.zstdCompressSync(new Uint8Array(buffer), { level: compressionLevel });
}

/** A copy, so that it begins at a multiple of any width. */
function decompressed(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(Bun.zstdDecompressSync(bytes)).buffer;
}

function unpack(packed: Uint8Array): { indexes: Uint32Array; values: Uint8Array; otherValues: Uint8Array } {
  const head = new Uint32Array(new Uint8Array(packed.subarray(0, headBytes)).buffer);
  const valuesAt = headBytes + head[1]!;
  const otherValuesAt = valuesAt + head[2]!;
  const indexes = new widths[head[0] as keyof typeof widths](
    decompressed(packed.subarray(headBytes, valuesAt)),
  );
  return {
    // Of one width, so that the loops over them are fast.
    indexes: indexes instanceof Uint32Array ? indexes : Uint32Array.from(indexes),
    values: packed.subarray(valuesAt, otherValuesAt),
    otherValues: packed.subarray(otherValuesAt),
  };
}

function unpackTexts(packed: Uint8Array): TextColumn {
  const { indexes, values, otherValues } = unpack(packed);
  return {
    indexes,
    doubles: new Float64Array(decompressed(values)),
    texts: JSON.parse(new TextDecoder().decode(otherValues)) as string[],
  };
}

export function unpackUsers(packed: Uint8Array): UserColumn {
  const { indexes, values } = unpack(packed);
  return { indexes, hashes: new Uint32Array(new Uint8Array(values).buffer) };
}

/** For each ordinal of a stored column, an index of the column's values from 1 on; 0 for none. */
export function indexesIn(packed: Uint8Array): Uint32Array {
  return unpack(packed).indexes;
}

/** Whether a tag without a column is on no event, by the list of columns. */
export function hasAllTags(list: Uint8Array | undefined): boolean {
  // An empty one is the marker, which on PostgreSQL is in the project's own block.
  return list?.[0] === 1;
}

/** The columns that hold some fields. The list is always needed. */
export function columnNames({ users, split, number, groups }: Fields): string[] {
  return [
    columnName.list,
    ...(users ? [columnName.user] : []),
    ...(split ? [nameOf(split)] : []),
    ...(number === undefined ? [] : [columnName.tag(number)]),
    ...(groups === undefined ? [] : [columnName.tag(groups)]),
  ];
}

/** A block's columns; null if it does not have those of the fields, and the rows must be read. */
export function columnsIn(
  { users, split, number, groups }: Fields,
  read: (name: string) => Uint8Array | undefined,
): Omit<Columns, "ms"> | null {
  const list = read(columnName.list);
  if (!list || list.length === 0) return null;
  const isComplete = hasAllTags(list);
  let isMissing = false;
  const textsOf = (name: string): TextColumn | null => {
    const packed = read(name);
    if (packed) return unpackTexts(packed);
    if (!isComplete) isMissing = true;
    return null;
  };
  const found = {
    users: users ? unpackUsers(read(columnName.user)!) : null,
    split: split ? textsOf(nameOf(split)) : null,
    number: number === undefined ? null : textsOf(columnName.tag(number)),
    groups: groups === undefined ? null : textsOf(columnName.tag(groups)),
  };
  return isMissing ? null : found;
}

function nameOf(split: Split): string {
  return split.by === "tag" ? columnName.tag(split.key) : columnName[split.by];
}
