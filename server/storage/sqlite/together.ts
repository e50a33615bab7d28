import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import type { RowsOf, Together, WriterWork } from "../store.ts";
import { Conflict } from "./dialect.ts";

/** After so many conflicts, a transaction holds the writer, so that it ends. */
const attemptsMax = 5;

/** @param open - opens the control tables with deferred transactions */
export function createTogether(
  control: Kysely<ControlTables>,
  open: (work: WriterWork) => Kysely<ControlTables>,
): Together {
  const opened = new Map<WriterWork, Kysely<ControlTables>>();
  return async (work, run) => {
    const deferred = opened.get(work) ?? open(work);
    opened.set(work, deferred);
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      try {
        return await deferred.transaction().execute(run);
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
      }
    }
    return control.transaction().execute(run);
  };
}

export const rowsOf: RowsOf = (_, columns, rows) => {
  const values = rows.map((row) => columns.map((column) => (row as Record<string, unknown>)[column] ?? null));
  const read = sql.join(columns.map((_, index) => sql`value ->> ${sql.lit(index)}`));
  // Without the WHERE, SQLite takes a following ON for that of a join (https://sqlite.org/lang_upsert.html).
  return sql<never>`SELECT ${read} FROM json_each(${JSON.stringify(values)}) WHERE true`;
};
