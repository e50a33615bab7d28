import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { UsageError } from "../with-store.ts";
import type { SourceRecord } from "./source-record.ts";

/** Rows that are passed on together. */
const rowsTogether = 500;
const separators = [",", ";", "\t"];

type Row = { record: string[]; raw: string; info: { lines: number } };

/**
 * Reads rows of CSV (RFC 4180) as objects of texts, by the names in the header, some at a time. Cells may also be
 * separated by semicolons or tabs, as spreadsheets do it.
 */
export async function* readCsv(
  input: AsyncGenerator<Uint8Array>,
  onHeader: (columns: string[], text: string) => void,
): AsyncGenerator<SourceRecord[]> {
  const { value: first, done } = await input.next();
  if (done) return;
  const rows = Readable.from(chained(first, input)).pipe(
    parse({
      bom: true,
      raw: true,
      info: true,
      delimiter: separatorOf(first),
      relax_column_count: true,
      skip_empty_lines: true,
    }),
  );
  let columns: string[] = [];
  let number = 0;
  /** The last line of the row before. */
  let line = 0;
  let records: SourceRecord[] = [];
  try {
    for await (const { record, raw, info } of rows as AsyncIterable<Row>) {
      const text = raw.replace(/\r?\n$/, "");
      const firstLine = info.lines - (text.match(/\n/g)?.length ?? 0);
      line = info.lines;
      if (columns.length === 0) {
        columns = record;
        onHeader(columns, text);
        continue;
      }
      number++;
      const value = Object.fromEntries(columns.map((column, index) => [column, record[index] ?? ""]));
      records.push({
        number,
        line: firstLine,
        text,
        value,
        ...(record.length !== columns.length && {
          fault: `The row has ${record.length} cells, and the header ${columns.length}.`,
        }),
      });
      if (records.length < rowsTogether) continue;
      yield records;
      records = [];
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (records.length > 0) yield records;
    throw new UsageError(`The CSV can't be read after line ${line}: ${(error as Error).message}`);
  }
  if (records.length > 0) yield records;
}

async function* chained(first: Uint8Array, rest: AsyncIterable<Uint8Array>) {
  yield first;
  yield* rest;
}

/** The separator that the header has most often. */
function separatorOf(piece: Uint8Array): string {
  const [header = ""] = new TextDecoder().decode(piece.subarray(0, 65_536)).split("\n", 1);
  const countOf = (separator: string) => header.split(separator).length;
  return separators.toSorted((a, b) => countOf(b) - countOf(a))[0]!;
}
