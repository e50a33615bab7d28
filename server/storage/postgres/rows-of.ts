import { sql } from "kysely";
import type { RowsOf } from "../store.ts";

export const rowsOf: RowsOf = (table, columns, rows) => {
  const named = rows.map((row) =>
    Object.fromEntries(
      columns.map((column) => [snakeCase(column), (row as Record<string, unknown>)[column]]),
    ),
  );
  const read = sql.join(columns.map((column) => sql.ref(column)));
  return sql<never>`SELECT ${read} FROM json_populate_recordset(null::${sql.table(table)}, ${withoutNul(JSON.stringify(named))}::json)`;
};

/** As the plugin of Kysely names columns. */
function snakeCase(column: string): string {
  return column.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** PostgreSQL's texts can't contain NUL, nor can they within JSON. */
function withoutNul(json: string): string {
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, "$1\\ufffd");
}
