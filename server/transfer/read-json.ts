import { type SourceRecord, UnreadableFileError } from "./source-record.ts";

/** A record that is longer can't become an event, and should not fill the memory. */
const recordCharacters = 16 * 1_048_576;

const lineFeed = 0x0a;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const arrayStart = 0x5b;
const arrayEnd = 0x5d;
const objectStart = 0x7b;
const objectEnd = 0x7d;

/**
 * Reads lines of JSON, or the items of a JSON array, some at a time. Neither is ever in memory as a whole. Throws an
 * UnreadableFileError.
 */
export async function* readJson(input: AsyncGenerator<Uint8Array>): AsyncGenerator<SourceRecord[]> {
  const read: Uint8Array[] = [];
  for (;;) {
    const { value, done } = await input.next();
    if (done) return;
    read.push(value);
    const first = firstByte(value);
    if (first === null) continue;
    const pieces = chained(read, input);
    yield* first === arrayStart ? readItems(pieces) : readLines(pieces);
    return;
  }
}

/** The first byte that is neither white space nor of a byte order mark. */
function firstByte(piece: Uint8Array): number | null {
  for (const byte of piece) if (byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) return byte;
  return null;
}

async function* chained(first: Uint8Array[], rest: AsyncIterable<Uint8Array>) {
  yield* first;
  yield* rest;
}

async function* readLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRecord[]> {
  const decoder = new TextDecoder();
  let number = 0;
  let line = 0;
  let rest = "";
  function recordsOf(lines: string[]): SourceRecord[] {
    const records: SourceRecord[] = [];
    for (const text of lines) {
      line++;
      if (text === "" || text.trim() === "") continue;
      records.push(recordOf(text, ++number, line));
    }
    return records;
  }
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop()!;
    if (lines.length > 0) yield recordsOf(lines);
    if (rest.length > recordCharacters) throw tooLong(`Line ${line + 1}`);
  }
  yield recordsOf([rest + decoder.decode()]);
}

async function* readItems(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRecord[]> {
  const decoder = new TextDecoder();
  let number = 0;
  let line = 1;
  /** The line where the item begins. */
  let itemLine = 1;
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let rest = "";
  for await (const piece of pieces) {
    const records: SourceRecord[] = [];
    let start = 0;
    const endItem = (at: number) => {
      const text = (rest + decoder.decode(piece.subarray(start, at), { stream: true })).trim();
      rest = "";
      start = at + 1;
      // A comma before the end of the array is forgiven.
      if (text !== "") records.push(recordOf(text, ++number, itemLine));
      itemLine = line;
    };
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at];
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === quote) isInString = false;
        else if (byte === backslash) isEscaped = true;
      } else if (byte === quote) isInString = true;
      else if (byte === lineFeed) {
        line++;
        if (depth === 1 && rest === "" && isBlank(piece, start, at)) itemLine = line;
      } else if (byte === arrayStart || byte === objectStart) {
        if (depth++ === 0) start = at + 1;
      } else if (byte === arrayEnd || byte === objectEnd) {
        if (--depth > 0) continue;
        endItem(at);
        if (records.length > 0) yield records;
        await checkEnd(piece.subarray(at + 1), pieces, line);
        return;
      } else if (byte === comma && depth === 1) endItem(at);
    }
    if (depth > 0) rest += decoder.decode(piece.subarray(start), { stream: true });
    if (rest.length > recordCharacters) throw tooLong(`The record at line ${itemLine}`);
    if (records.length > 0) yield records;
  }
  throw new UnreadableFileError(`The array has no end: the file is cut off after record ${number}.`);
}

function isBlank(piece: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (piece[at]! > 0x20) return false;
  return true;
}

/** Throws an UnreadableFileError if something follows the array. */
async function checkEnd(rest: Uint8Array, pieces: AsyncIterable<Uint8Array>, line: number): Promise<void> {
  let isOver = isBlank(rest, 0, rest.length);
  for await (const piece of pieces) isOver &&= isBlank(piece, 0, piece.length);
  if (!isOver)
    throw new UnreadableFileError(`Something follows the array that ends in line ${line}: it is not read.`);
}

function recordOf(text: string, number: number, line: number): SourceRecord {
  try {
    return { number, line, text, value: JSON.parse(text) };
  } catch (error) {
    const why =
      text.trim() === "{"
        ? "The line is only the beginning of an object. Write one object on each line (jq -c . FILE), or an array."
        : `This is not JSON: ${(error as Error).message}.`;
    return { number, line, text: text.replaceAll("\n", " "), value: null, fault: why };
  }
}

function tooLong(what: string): UnreadableFileError {
  return new UnreadableFileError(`${what} is longer than 16 MB. Is the file lines of JSON, or a JSON array?`);
}
