import type { parse } from "csv-parse";
import { type SourceRecord, UnreadableFileError } from "./source-record.ts";

const separators = [",", ";", "\t"];

type CsvRow = { record: string[]; raw: string; info: { lines: number } };

/**
 * Reads rows of CSV (RFC 4180) as objects of texts, by the names in the header, some at a time. Cells may also be
 * separated by semicolons or tabs, as spreadsheets do it. Throws an UnreadableFileError.
 *
 * @param createParser - `parse` of csv-parse, which has one build for servers and one for browsers
 */
export async function* readCsv(
  input: AsyncGenerator<Uint8Array>,
  createParser: typeof parse,
  onHeader: (columns: string[], text: string) => void,
): AsyncGenerator<SourceRecord[]> {
  const { value: first, done } = await input.next();
  if (done) return;
  let rows: CsvRow[] = [];
  let failure: Error | null = null;
  // The build for browsers takes no bytes.
  const decoder = new TextDecoder();
  const parser = createParser({
    raw: true,
    info: true,
    delimiter: separatorOf(first),
    relax_column_count: true,
    skip_empty_lines: true,
  });
  parser.on("data", (row: CsvRow) => rows.push(row));
  const ended = new Promise<void>((resolve) => {
    parser.on("end", resolve);
    parser.on("error", (error: Error) => {
      failure = error;
      resolve();
    });
  });

  let columns: string[] | null = null;
  let number = 0;
  /** The last line of the row before. */
  let line = 0;
  function parsed(): SourceRecord[] {
    const records: SourceRecord[] = [];
    for (const { record, raw, info } of rows) {
      const text = raw.replace(/\r?\n$/, "");
      const firstLine = info.lines - (text.match(/\n/g)?.length ?? 0);
      line = info.lines;
      if (columns) records.push(recordOf(columns, record, { number: ++number, line: firstLine, text }));
      else {
        columns = record;
        onHeader(columns, text);
      }
    }
    rows = [];
    return records;
  }

  for await (const piece of chained(first, input)) {
    // Rows are parsed when the piece is, so that a file is read no faster than its rows are taken.
    const text = decoder.decode(piece, { stream: true });
    if (text !== "") await Promise.race([new Promise((written) => parser.write(text, written)), ended]);
    const records = parsed();
    if (records.length > 0) yield records;
    if (failure) break;
  }
  if (!failure) parser.end(decoder.decode());
  await ended;
  const records = parsed();
  if (records.length > 0) yield records;
  if (failure)
    throw new UnreadableFileError(`The CSV can't be read after line ${line}: ${(failure as Error).message}`);
}

function recordOf(
  columns: string[],
  cells: string[],
  place: Pick<SourceRecord, "number" | "line" | "text">,
): SourceRecord {
  const value = Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ""]));
  if (cells.length === columns.length) return { ...place, value };
  const fault = `The row has ${cells.length === 1 ? "1 cell" : `${cells.length} cells`}, and the header ${columns.length}.`;
  return { ...place, value, fault };
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
