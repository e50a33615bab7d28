import type { Database } from "bun:sqlite";
import type { ClientBase } from "pg";

/** The columns of a table, such as `name: text, null`, and its keys and indexes, such as `INDEX (name)`. Sorted. */
export type DatabaseTable = { columns: string[]; keys: string[] };

/** Either a column or a key. */
type Part = { table: string; column: string | null; key: string | null };

/** Reads the tables of a SQLite database. */
export function sqliteTables(database: Database): Record<string, DatabaseTable> {
  return tablesOf(database.query<Part, []>(sqliteParts).all());
}

/** Reads the tables of a PostgreSQL database, without partitions. */
export async function postgresTables(client: ClientBase): Promise<Record<string, DatabaseTable>> {
  return tablesOf((await client.query<Part>(postgresParts)).rows);
}

function tablesOf(parts: Part[]): Record<string, DatabaseTable> {
  const tables: Record<string, DatabaseTable> = {};
  for (const { table, column, key } of parts) {
    tables[table] ??= { columns: [], keys: [] };
    if (column !== null) tables[table].columns.push(column);
    if (key !== null) tables[table].keys.push(key);
  }
  for (const { columns, keys } of Object.values(tables)) {
    columns.sort();
    keys.sort();
  }
  return tables;
}

/** A primary key that SQLite allows to be null, in a table with row ids, counts as NOT NULL. */
const sqliteParts = `
  WITH tables AS (
    SELECT name, sql FROM pragma_table_list JOIN sqlite_master USING (name)
    WHERE pragma_table_list.type = 'table' AND name <> 'sqlite_sequence'
  ), foreign_keys AS (
    SELECT tables.name, target."table" AS target, on_delete, group_concat("from", ', ' ORDER BY seq) AS columns,
           group_concat("to", ', ' ORDER BY seq) AS target_columns
    FROM tables, pragma_foreign_key_list(tables.name) AS target GROUP BY tables.name, id
  )
  SELECT tables.name AS "table", column.name || ': ' || CASE
      WHEN type LIKE '%int%' THEN 'integer' WHEN type LIKE '%text%' THEN 'text'
      WHEN type IN ('REAL', 'double precision') THEN 'real' ELSE lower(type) END
    || iif("notnull" OR pk, '', ', null')
    || iif(dflt_value IS NOT NULL OR (pk AND sql LIKE '% AUTOINCREMENT%'), ', generated', '') AS "column", NULL AS "key"
  FROM tables, pragma_table_info(tables.name) AS column
  UNION ALL
  SELECT name, NULL, 'PRIMARY KEY (' ||
    (SELECT group_concat(name, ', ' ORDER BY pk) FROM pragma_table_info(tables.name) WHERE pk > 0) || ')'
  FROM tables
  UNION ALL
  SELECT tables.name, NULL, iif("unique", 'UNIQUE INDEX (', 'INDEX (') ||
    (SELECT group_concat(coalesce(name, 'expression'), ', ' ORDER BY seqno) FROM pragma_index_info(list.name)) || ')' ||
    iif(partial, ' WHERE …', '')
  FROM tables, pragma_index_list(tables.name) AS list WHERE origin <> 'pk'
  UNION ALL
  SELECT name, NULL, 'FOREIGN KEY (' || columns || ') REFERENCES ' || target || '(' || target_columns || ')' ||
    iif(on_delete = 'NO ACTION', '', ' ON DELETE ' || on_delete)
  FROM foreign_keys`;

const postgresParts = `
  WITH tables AS (
    SELECT oid, relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  )
  SELECT name AS "table", column_name || ': ' || CASE data_type
      WHEN 'bigint' THEN 'integer' WHEN 'double precision' THEN 'real' ELSE data_type END
    || CASE WHEN is_nullable = 'YES' THEN ', null' ELSE '' END
    || CASE WHEN column_default IS NOT NULL OR is_identity = 'YES' THEN ', generated' ELSE '' END AS "column",
    NULL AS "key"
  FROM tables JOIN information_schema.columns ON table_schema = current_schema() AND table_name = name
  UNION ALL
  SELECT name, NULL, CASE WHEN indisprimary THEN 'PRIMARY KEY (' WHEN indisunique THEN 'UNIQUE INDEX (' ELSE 'INDEX (' END
    || (SELECT string_agg(pg_get_indexdef(indexrelid, place, true), ', ' ORDER BY place)
        FROM generate_series(1, indnkeyatts) AS place) || ')'
    || CASE WHEN indpred IS NULL THEN '' ELSE ' WHERE …' END
  FROM tables JOIN pg_index ON indrelid = oid
  UNION ALL
  SELECT name, NULL, pg_get_constraintdef(pg_constraint.oid)
  FROM tables JOIN pg_constraint ON conrelid = tables.oid WHERE contype = 'f'`;
