/** A control table to move. Both engines' tables have the same columns. */
export type Table = {
  name: string;
  /** Its primary key, which orders and identifies rows. */
  key: readonly string[];
  /** Texts that can contain NUL, which PostgreSQL stores as bytes. */
  bytes?: readonly string[];
  /** Columns that storing the events fills. */
  fromEvents?: readonly string[];
  /** The database assigns the ids. */
  numbered?: true;
};

/**
 * The control tables, each after those that it references. Leases are not moved, because their holders have ended; nor
 * are the activity of users, which is derived from events, and the counts of changes, which only cohorts compare.
 */
export const tables: readonly Table[] = [
  { name: "settings", key: ["name"] },
  { name: "accounts", key: ["id"] },
  { name: "credentials", key: ["id"] },
  { name: "sessions", key: ["id"] },
  { name: "verifications", key: ["id"] },
  { name: "account_links", key: ["token_hash"] },
  { name: "two_factors", key: ["id"] },
  { name: "passkeys", key: ["id"] },
  { name: "projects", key: ["id"], numbered: true },
  { name: "members", key: ["project_id", "account_id"] },
  { name: "invitations", key: ["id"] },
  { name: "channels", key: ["project_id", "name"], fromEvents: ["events", "last_event_at"] },
  { name: "channel_marks", key: ["project_id", "account_id", "channel"] },
  { name: "views", key: ["id"] },
  { name: "view_marks", key: ["view_id", "account_id"] },
  { name: "keys", key: ["id"] },
  { name: "destinations", key: ["id"] },
  { name: "message_hours", key: ["destination_id"] },
  { name: "notification_settings", key: ["account_id"] },
  { name: "notification_levels", key: ["project_id", "account_id", "channel", "destination_id"] },
  { name: "mutes", key: ["id"] },
  { name: "email_unsubscriptions", key: ["project_id", "account_id"] },
  { name: "mail_counts", key: ["subject", "hour"] },
  { name: "rules", key: ["id"] },
  { name: "rule_values", key: ["rule_id", "value"] },
  { name: "silences", key: ["id"] },
  { name: "alerts", key: ["id"] },
  { name: "alert_changes", key: ["id"], numbered: true },
  { name: "boards", key: ["id"] },
  { name: "annotations", key: ["id"] },
  { name: "insights", key: ["project_id", "key"] },
  { name: "insight_points", key: ["project_id", "key", "at"] },
  { name: "webhooks", key: ["id"] },
  { name: "webhook_requests", key: ["id"], numbered: true },
  { name: "heartbeats", key: ["id"] },
  { name: "heartbeat_pings", key: ["id"], numbered: true },
  { name: "heartbeat_events", key: ["id"], numbered: true },
  { name: "on_call_schedules", key: ["id"] },
  { name: "on_call_overrides", key: ["id"] },
  { name: "reports", key: ["id"] },
  { name: "website_salts", key: ["day"] },
  { name: "website_visits", key: ["project_id", "visitor"] },
  { name: "website_boards", key: ["project_id"] },
  { name: "outbox", key: ["id"], numbered: true },
  { name: "deliveries", key: ["id"], numbered: true },
  { name: "delivery_queues", key: ["destination_id"] },
  { name: "rejected_events", key: ["id"], bytes: ["body"], numbered: true },
  { name: "idempotency_keys", key: ["project_id", "key"] },
  { name: "users", key: ["project_id", "user_id"] },
  { name: "person_ids", key: ["project_id", "user_id"] },
  { name: "people_versions", key: ["project_id"] },
  // Changes are counted anew in the other database.
  { name: "cohorts", key: ["id"], fromEvents: ["computed_changes"] },
  { name: "cohort_members", key: ["cohort_id", "user_id"] },
  { name: "user_group_types", key: ["project_id", "type"] },
  { name: "user_groups", key: ["project_id", "type", "group_id"] },
  { name: "user_group_members", key: ["project_id", "type", "group_id", "user_id"] },
  { name: "user_notes", key: ["id"] },
  { name: "jobs", key: ["id"] },
  { name: "daily_events", key: ["project_id", "day"] },
  { name: "audit_log", key: ["id"], numbered: true },
];

export type Value = number | string | null;

/** A row or event, in a form that is the same for both databases. */
export type ComparedRow = {
  /** Its position in the order of reading. */
  key: readonly (number | string)[];
  /** Its complete content. */
  text: string;
};

export type TableRow = ComparedRow & {
  /** By column. */
  values: Record<string, Value>;
};

/** @param columns - the columns to compare, in order */
export function tableRow(table: Table, columns: readonly string[], values: Record<string, Value>): TableRow {
  return {
    key: table.key.map((column) => values[column] as number | string),
    text: JSON.stringify(columns.map((column) => values[column])),
    values,
  };
}

/** The order of keys in both databases: numbers by value, texts by their bytes in UTF-8. */
function compareKeys(a: ComparedRow["key"], b: ComparedRow["key"]): number {
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

/** An entry that only one side has, or that differs. */
export type Difference<Here extends ComparedRow, There extends ComparedRow> =
  | { kind: "missing"; here: Here }
  | { kind: "other"; here: Here; there: There }
  | { kind: "extra"; there: There };

/** Reads both sides once, in the order of keys, and returns the differences. */
export async function* differences<Here extends ComparedRow, There extends ComparedRow>(
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
