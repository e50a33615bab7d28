/**
 * Rows that a statement has with it, as JSON: what only PostgreSQL knows. Unlike a table function, this needs no right that
 * reading doesn't.
 */

/** SQL for a table with a column `sent`, a tuple for each row. Its fields are `sent.1` and so on. */
export function sentRowsSql(rows: readonly (readonly unknown[])[], types: readonly string[]): string {
  const lists = rows.map((row) => escaped(JSON.stringify(row)));
  return `(SELECT arrayJoin(JSONExtract('[${lists.join(",")}]', 'Array(Tuple(${types.join(", ")}))')) AS sent)`;
}

/** A text as part of a literal (https://clickhouse.com/docs/sql-reference/syntax#string). */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}
