import type { parse } from "csv-parse";
import type { SourceRecord } from "./read-lines.ts";

/** A CSV file that can't be read to its end, for example because a quote isn't closed. */
export class CsvFileError extends Error {}

type Row = { record: string[]; raw: string };

/**
 * Reads rows of CSV (RFC 4180) as objects of texts, by the names in the header. Throws a CsvFileError.
 *
 * @param createParser - `parse` of csv-parse, which has one build for servers and one for browsers
 */
export async function* readCsv(
  pieces: AsyncIterable<Uint8Array>,
  createParser: typeof parse,
  onHeader: (columns: string[]) => void = () => {},
): AsyncGenerator<SourceRecord> {
  let columns: string[] | null = null;
  let number = 0;
  let rows: Row[] = [];
  let failure: Error | null = null;
  const decoder = new TextDecoder();
  const parser = createParser({ bom: true, raw: true, relax_column_count: true, skip_empty_lines: true });
  parser.on("data", (row: Row) => rows.push(row));
  const ended = new Promise<void>((resolve) => {
    parser.on("end", resolve);
    parser.on("error", (error: Error) => {
      failure = error;
      resolve();
    });
  });

  function* parsed(): Generator<SourceRecord> {
    const ready = rows;
    rows = [];
    for (const { record, raw } of ready) {
      if (!columns) {
        columns = record;
        onHeader(columns);
      } else yield recordOf(columns, record, ++number, raw.endsWith("\n") ? raw : `${raw}\n`);
    }
    if (failure) throw new CsvFileError(`The CSV can't be read after row ${number}: ${failure.message}`);
  }

  for await (const piece of pieces) {
    const text = decoder.decode(piece, { stream: true });
    // Rows are parsed when the piece is, so that a file is read no faster than its rows are taken.
    if (text !== "") await Promise.race([new Promise((done) => parser.write(text, done)), ended]);
    yield* parsed();
  }
  parser.end(decoder.decode());
  await ended;
  yield* parsed();
}

function recordOf(columns: string[], cells: string[], number: number, text: string): SourceRecord {
  const value = Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ""]));
  if (cells.length === columns.length) return { number, text, value };
  const fault = `The row has ${cells.length} cells, and the header ${columns.length}.`;
  return { number, text, value, fault };
}
