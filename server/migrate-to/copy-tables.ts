import type { Source } from "./source.ts";
import { differences, type Table, type TableRow, tables } from "./tables.ts";
import type { Target } from "./target.ts";

/** Rows and characters that one statement writes. */
const batchRows = 1_000;
const batchCharacters = 1_048_576;

/**
 * Makes the target's control tables equal to the source's.
 *
 * @param onRows - called with the number of rows compared
 */
export async function copyTables(
  source: Source,
  target: Target,
  onRows: (rows: number) => void,
): Promise<void> {
  // First delete what the source does not have: another row can have its unique values now. Referencing tables come
  // first.
  for (const table of tables.toReversed()) {
    const batch = new Batch((rows) => target.remove(table, rows));
    for await (const difference of differencesOf(table, source, target)) {
      if (difference.kind === "extra") await batch.add(difference.there);
    }
    await batch.flush();
  }
  for (const table of tables) {
    const columns = copiedColumns(table, source).map(({ name }) => name);
    const batch = new Batch((rows) => target.put(table, columns, rows));
    const reported = reportRows(source.rowsOf(table, columns), onRows);
    for await (const difference of differencesOf(table, source, target, reported)) {
      if (difference.kind !== "extra") await batch.add(difference.here);
    }
    await batch.flush();
    if (table.numbered) await target.numberFrom(table, source.lastNumberOf(table));
  }
}

function differencesOf(table: Table, source: Source, target: Target, rows?: Iterable<TableRow>) {
  const columns = copiedColumns(table, source);
  return differences(
    rows ??
      source.rowsOf(
        table,
        columns.map(({ name }) => name),
      ),
    target.rowsOf(table, columns),
  );
}

/** The columns to copy, without those that storing the events fills: these would be counted twice. */
function copiedColumns(table: Table, source: Source) {
  return source.columnsOf(table).filter(({ name }) => !table.fromEvents?.includes(name));
}

function* reportRows(rows: Iterable<TableRow>, onRows: (rows: number) => void): Generator<TableRow> {
  for (const row of rows) {
    yield row;
    onRows(1);
  }
}

/** Collects rows that are written together. */
class Batch {
  readonly #write: (rows: TableRow[]) => Promise<void>;
  #rows: TableRow[] = [];
  #characters = 0;

  constructor(write: (rows: TableRow[]) => Promise<void>) {
    this.#write = write;
  }

  async add(row: TableRow): Promise<void> {
    this.#rows.push(row);
    this.#characters += row.text.length;
    if (this.#rows.length >= batchRows || this.#characters >= batchCharacters) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = this.#rows;
    this.#rows = [];
    this.#characters = 0;
    await this.#write(rows);
  }
}
