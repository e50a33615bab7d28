/** A control table that is moved. Columns are those that both engines' tables have. */
export type Table = {
  name: string;
  /** Its primary key: rows are read in its order, and told apart by it. */
  key: readonly string[];
  /** Texts that may hold NUL, which PostgreSQL keeps as bytes. */
  bytes?: readonly string[];
  /** Columns that the events themselves fill as they are stored. */
  fromEvents?: readonly string[];
  /** Ids are handed out by the database. */
  numbered?: true;
};

/** The control tables, each behind those that it refers to. Leases are not among them: who held one has ended. */
export const tables: readonly Table[] = [
  { name: "settings", key: ["name"] },
  { name: "accounts", key: ["id"] },
  { name: "credentials", key: ["id"] },
  { name: "sessions", key: ["id"] },
  { name: "verifications", key: ["id"] },
  { name: "projects", key: ["id"], numbered: true },
  { name: "members", key: ["project_id", "account_id"] },
  { name: "channels", key: ["project_id", "name"], fromEvents: ["events", "last_event_at"] },
  { name: "keys", key: ["id"] },
  { name: "destinations", key: ["id"] },
  { name: "deliveries", key: ["id"], numbered: true },
  { name: "rejected_events", key: ["id"], bytes: ["body"], numbered: true },
  { name: "idempotency_keys", key: ["project_id", "key"] },
  { name: "users", key: ["project_id", "user_id"] },
  { name: "jobs", key: ["id"] },
];

export type Value = number | string | null;

/** Something of either database, in a form that is the same for both. */
export type Entry = {
  /** Where it stands in the order of reading. */
  key: readonly (number | string)[];
  /** All of it. */
  text: string;
};

export type TableRow = Entry & {
  /** By column. */
  values: Record<string, Value>;
};

/** @param columns - those whose values count, in an order */
export function tableRow(table: Table, columns: readonly string[], values: Record<string, Value>): TableRow {
  return {
    key: table.key.map((column) => values[column] as number | string),
    text: JSON.stringify(columns.map((column) => values[column])),
    values,
  };
}

/** The order of keys in both databases: numbers by size, texts by their bytes in UTF-8. */
function compareKeys(a: Entry["key"], b: Entry["key"]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index]!;
    const order =
      typeof part === "number"
        ? part - (other as number)
        : Buffer.compare(Buffer.from(part), Buffer.from(other as string));
    if (order !== 0) return order;
  }
  return 0;
}

/** What one side has and the other has not, or has otherwise. */
export type Difference<Here extends Entry, There extends Entry> =
  | { kind: "missing"; here: Here }
  | { kind: "other"; here: Here; there: There }
  | { kind: "extra"; there: There };

/** Reads both sides once, in the order of their keys, and gives what differs. */
export async function* differences<Here extends Entry, There extends Entry>(
  source: Iterable<Here>,
  target: AsyncIterable<There[]>,
): AsyncGenerator<Difference<Here, There>> {
  const here = source[Symbol.iterator]();
  let next = here.next();
  for await (const page of target) {
    for (const there of page) {
      for (; !next.done && compareKeys(next.value.key, there.key) < 0; next = here.next()) {
        yield { kind: "missing", here: next.value };
      }
      if (next.done || compareKeys(next.value.key, there.key) > 0) {
        yield { kind: "extra", there };
        continue;
      }
      if (next.value.text !== there.text) yield { kind: "other", here: next.value, there };
      next = here.next();
    }
  }
  for (; !next.done; next = here.next()) yield { kind: "missing", here: next.value };
}
