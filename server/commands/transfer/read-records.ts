import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { parse } from "csv-parse";
import { limits } from "../../limits.ts";
import { UsageError } from "../with-store.ts";

/** A record of a file: a line of JSON or a row. `fault` says why it can't be read. */
export type SourceRecord = {
  /** Counts from 1, without blank lines and the header. */
  number: number;
  /** As in the file, with its line break. */
  text: string;
  value: unknown;
  fault?: string;
};

/** The bytes of a file, or of standard input for `-`, without compression. */
export function openInput(file: string, onBytes: (count: number) => void = () => {}): Readable {
  const raw = file === "-" ? Readable.fromWeb(Bun.stdin.stream() as never) : createReadStream(file);
  raw.on("data", (piece: Uint8Array) => onBytes(piece.length));
  raw.pause();
  if (!file.endsWith(".gz")) return raw;
  const plain = createGunzip();
  raw.on("error", (error) => plain.destroy(error));
  return raw.pipe(plain);
}

/** Reads lines of JSON. */
export async function* readJsonLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRecord> {
  const decoder = new TextDecoder();
  let number = 0;
  let rest = "";
  function recordOf(line: string): SourceRecord {
    number++;
    const text = `${line}\n`;
    if (line.length > limits.eventBytes)
      return { number, text, value: null, fault: `The line is longer than ${limits.eventBytes} bytes.` };
    try {
      return { number, text, value: JSON.parse(line) };
    } catch (error) {
      return { number, text, value: null, fault: `The line is not JSON: ${(error as Error).message}.` };
    }
  }
  for await (const piece of input) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.trim() !== "") yield recordOf(line);
  }
  rest += decoder.decode();
  if (rest.trim() !== "") yield recordOf(rest);
}

/** Reads rows of CSV (RFC 4180) as objects of texts, by the names in the header. */
export async function* readCsv(
  input: Readable,
  onHeader: (columns: string[]) => void,
): AsyncGenerator<SourceRecord> {
  let columns: string[] = [];
  const rows = input.pipe(parse({ bom: true, raw: true, relax_column_count: true, skip_empty_lines: true }));
  input.on("error", (error) => rows.destroy(error));
  let number = 0;
  try {
    for await (const { record, raw } of rows as AsyncIterable<{ record: string[]; raw: string }>) {
      if (columns.length === 0) {
        columns = record;
        onHeader(columns);
        continue;
      }
      number++;
      const value = Object.fromEntries(columns.map((column, index) => [column, record[index] ?? ""]));
      const text = raw.endsWith("\n") ? raw : `${raw}\n`;
      if (record.length === columns.length) yield { number, text, value };
      else
        yield {
          number,
          text,
          value,
          fault: `The row has ${record.length} cells, and the header ${columns.length}.`,
        };
    }
  } catch (error) {
    throw new UsageError(`The CSV can't be read after row ${number}: ${(error as Error).message}`);
  }
}
