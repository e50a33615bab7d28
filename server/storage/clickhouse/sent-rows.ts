/** Rows of a part, whose text is made at once. */
const partRows = 200;
/** A statement with more than this takes longer to send than others may wait for their turn. */
const charactersMax = 4_194_304;

/**
 * Rows that a statement has with it, as JSON: what only PostgreSQL knows. Unlike a table function, this needs no right that
 * reading doesn't. Add them in turns: there can be tens of thousands.
 */
export class SentRows {
  count = 0;
  #characters = 0;
  readonly #parts: string[] = [];
  #rows: string[] = [];

  /** Whether it is larger than a statement for a reader should be. */
  get isTooLarge(): boolean {
    return this.#characters > charactersMax;
  }

  add(row: readonly unknown[]): void {
    const text = escaped(JSON.stringify(row));
    this.#rows.push(text);
    this.#characters += text.length + 1;
    this.count++;
    if (this.#rows.length < partRows) return;
    this.#parts.push(this.#rows.join(","));
    this.#rows = [];
  }

  /**
   * SQL for a table with a column `sent`, a tuple for each row. Its fields are `sent.1` and so on. ClickHouse reads JSON that
   * it doesn't understand as no rows, so it compares their number.
   */
  sql(types: readonly string[]): string {
    const parts = this.#rows.length > 0 ? [...this.#parts, this.#rows.join(",")] : this.#parts;
    return `(SELECT arrayJoin(if(throwIf(length(list) != ${this.count}, 'Rows that were sent can not be read') = 0, list, list)) AS sent
      FROM (SELECT JSONExtract('[${parts.join(",")}]', 'Array(Tuple(${types.join(", ")}))') AS list))`;
  }
}

/** The newest events, as an analysis needs them, and who is joined to whom. */
export type Sent = {
  newest: SentRows;
  /** IDs, each with the main ID of the person that its events are of. */
  joined: SentRows;
};

/** A text as part of a literal (https://clickhouse.com/docs/sql-reference/syntax#string). */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}
