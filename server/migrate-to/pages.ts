import type { Query } from "../storage/postgres/query.ts";

/** The most rows and bytes of a page. */
const pageRows = 2_000;
const pageBytes = 1_048_576;

/**
 * The rows of a query in the order of a key, in pages. Each page is read while the caller uses the one before.
 *
 * @param query - up to `FROM`; its column `page_bytes` is the size of a row
 */
export async function* pagesOf<Row extends object>(
  runQuery: Query,
  query: string,
  condition: string,
  key: readonly string[],
  keyOf: (row: Row) => unknown[],
): AsyncGenerator<Row[]> {
  const order = key.join(", ");
  const placeholders = key.map((_, index) => `$${index + 1}`).join(", ");
  const read = (after: unknown[] | null): Promise<Row[]> => {
    // The condition on the first column is implied, but the planner needs it to choose partitions.
    const afterCondition = after ? `AND ${key[0]} >= $1 AND (${order}) > (${placeholders})` : "";
    const rows = runQuery<Row>(
      `SELECT * FROM (
         SELECT *, sum(page_bytes) OVER (ORDER BY ${order}) AS page_sum, row_number() OVER (ORDER BY ${order}) AS page_number
         FROM (${query} WHERE ${condition} ${afterCondition} ORDER BY ${order} LIMIT ${pageRows}) AS rows) AS measured
       WHERE page_sum <= ${pageBytes} OR page_number = 1 ORDER BY page_number`,
      after ?? [],
    );
    // The caller gets the error when it asks for the page. This avoids an unhandled rejection if it never does.
    rows.catch(() => {});
    return rows;
  };
  for (let next = read(null); ; ) {
    const rows = await next;
    if (rows.length === 0) return;
    next = read(keyOf(rows.at(-1)!));
    yield rows;
  }
}
