import type { Pool, QueryConfig, QueryResultRow } from "pg";
import type { ArrivalStamp } from "../event/id.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";
import { createAppend } from "../storage/postgres/append.ts";
import { bigints, integers, uuids } from "../storage/postgres/arrays.ts";
import { migrate } from "../storage/postgres/migrate.ts";
import { moving, movingSetting } from "../storage/postgres/migration-guard.ts";
import { Partitions } from "../storage/postgres/partitions.ts";
import { openPool } from "../storage/postgres/pool.ts";
import type { Query } from "../storage/postgres/query.ts";
import { NewTexts } from "../storage/postgres/vocabulary.ts";
import { pagesOf } from "./pages.ts";
import { MoveRefused } from "./source.ts";
import { type EventRow, type StoredEvent, storedEvent } from "./stored-event.ts";
import { type ComparedRow, type Table, type TableRow, tableRow, tables, type Value } from "./tables.ts";

const connections = 3;
/** Only statistics of very large tables take that long. */
const statementMs = 10 * 60_000;

/** The database to move into. No server uses it during the move. */
export class Target {
  readonly #pool: Pool;
  readonly #partitions: Partitions;
  readonly #append: ReturnType<typeof createAppend>;
  /** The batch sent last. */
  #appended: Promise<unknown> = Promise.resolve();

  private constructor(pool: Pool) {
    this.#pool = pool;
    this.#partitions = new Partitions(this.#runQuery);
    // Batches run one after another, and none after one that failed. So the target always has everything up to its last
    // arrival.
    const runInOrder: Query = (sql, parameters) => {
      const rows = this.#appended.then(() => this.#runQuery(sql, parameters));
      this.#appended = rows;
      rows.catch(() => {});
      return rows as never;
    };
    this.#append = createAppend(runInOrder, crypto.randomUUID(), this.#partitions, new NewTexts());
  }

  /** Migrates the database to this program's version. Throws if it can't be reached or used. */
  static async open(url: string, onError: (error: Error) => void): Promise<Target> {
    const pool = openPool({ url, connections }, onError);
    try {
      await migrate(pool);
      return new Target(pool);
    } catch (error) {
      await pool.end();
      const { message, code } = error as Error & { code?: string };
      // If several addresses were tried, the error has a code and no message.
      throw new MoveRefused(`That database can't be used: ${message || code}`);
    }
  }

  readonly #runQuery: Query = async <Row extends QueryResultRow>(
    sql: string,
    parameters: readonly unknown[] = [],
  ) => {
    const config: QueryConfig & { query_timeout: number } = {
      text: sql,
      values: parameters as unknown[],
      query_timeout: statementMs,
    };
    return (await this.#pool.query<Row>(config)).rows;
  };

  /** Whether a move into it has begun, and no server has taken it over. */
  async isBegun(): Promise<boolean> {
    return (await this.setting(movingSetting)) !== null;
  }

  /** Marks the database as the target of a move. Throws if it contains other data. */
  async begin(): Promise<void> {
    const known = await this.#runQuery("UPDATE settings SET value = $2 WHERE name = $1 RETURNING name", [
      movingSetting,
      moving.underWay,
    ]);
    if (known.length > 0) return;
    // The settings of a server's first start don't count: they can be overwritten.
    const holders = [...tables.map(({ name }) => name).filter((name) => name !== "settings"), "events"];
    const begun = await this.#runQuery(
      `INSERT INTO settings (name, value)
       SELECT $1, $2 WHERE NOT (${holders.map((name) => `EXISTS (SELECT FROM ${name})`).join(" OR ")})
       RETURNING name`,
      [movingSetting, moving.underWay],
    );
    if (begun.length === 0) {
      throw new MoveRefused(
        "That database already contains other data, or was used since the move. Use an empty database.",
      );
    }
  }

  /** Marks the move as done: a server can take the database over. */
  async finish(): Promise<void> {
    await this.#runQuery("UPDATE settings SET value = $2 WHERE name = $1", [movingSetting, moving.done]);
  }

  async setting(name: string): Promise<string | null> {
    const [row] = await this.#runQuery<{ value: string }>("SELECT value FROM settings WHERE name = $1", [
      name,
    ]);
    return row?.value ?? null;
  }

  /** Whether there are accounts, but none of these. */
  async hasOtherAccounts(ids: readonly string[]): Promise<boolean> {
    const [row] = await this.#runQuery<{ isOther: boolean }>(
      `SELECT EXISTS (SELECT FROM accounts) AND NOT EXISTS (SELECT FROM accounts WHERE id = ANY ($1::text[])) AS "isOther"`,
      [ids],
    );
    return row!.isOther;
  }

  /** The rows of a table in the order of its key, in pages. */
  async *rowsOf(
    table: Table,
    columns: readonly { name: string; isText: boolean }[],
  ): AsyncGenerator<TableRow[]> {
    const names = columns.map(({ name }) => name);
    const selected = names.map((name) =>
      table.bytes?.includes(name) ? `encode(${name}, 'hex') AS ${name}` : name,
    );
    const bytes = columns
      .filter(({ isText }) => isText)
      .map(({ name }) => `coalesce(octet_length(${name}), 0)`);
    const isOwn = table.name === "settings" ? `name <> '${movingSetting}'` : "true";
    const pages = pagesOf<Record<string, Value>>(
      this.#runQuery,
      `SELECT ${selected.join(", ")}, ${bytes.join(" + ") || "0"} AS page_bytes FROM ${table.name}`,
      isOwn,
      table.key,
      (row) => table.key.map((name) => row[name]),
    );
    for await (const page of pages) yield page.map((row) => tableRow(table, names, row));
  }

  /** A project's events in the order of `createdAt`, then id, in pages. */
  async *eventsOf(projectId: number): AsyncGenerator<StoredEvent[]> {
    const pages = pagesOf<EventRow & { notified: boolean }>(
      this.#runQuery,
      `SELECT project_id AS "projectId", id, created_at, created_at AS ms, body, arrival >> 20 AS "arrivalMs",
         (arrival & 1048575)::integer AS sequence, notified, octet_length(body) AS page_bytes
       FROM events`,
      `project_id = ${projectId}`,
      ["created_at", "id"],
      ({ ms, id }) => [ms, id],
    );
    for await (const page of pages) yield page.map((row) => storedEvent(row, row.notified));
  }

  /** Inserts rows, or updates those whose keys exist. */
  async put(table: Table, columns: readonly string[], rows: readonly TableRow[]): Promise<void> {
    const values = columns
      .filter((name) => !table.key.includes(name))
      .map((name) => `${name} = excluded.${name}`);
    await this.#runQuery(
      `INSERT INTO ${table.name} (${columns.join(", ")})
       SELECT ${columns.join(", ")} FROM json_populate_recordset(NULL::${table.name}, $1::json)
       ON CONFLICT (${table.key.join(", ")}) DO UPDATE SET ${values.join(", ")}`,
      [recordset(table, rows)],
    );
  }

  async remove(table: Table, rows: readonly TableRow[]): Promise<void> {
    const key = table.key.join(", ");
    await this.#runQuery(
      `DELETE FROM ${table.name} WHERE (${key}) IN (SELECT ${key} FROM json_populate_recordset(NULL::${table.name}, $1::json))`,
      [recordset(table, rows)],
    );
  }

  /** Makes the table's next id follow this one. */
  async numberFrom({ name }: Table, last: number): Promise<void> {
    await this.#runQuery(
      "SELECT setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1), $2::bigint > 0)",
      [name, last],
    );
  }

  async countEvents(): Promise<number> {
    const [row] = await this.#runQuery<{ events: number }>(
      "SELECT coalesce(sum(events), 0) AS events FROM channel_counters",
    );
    return row!.events;
  }

  /** The projects that have events. */
  async projectsOfEvents(): Promise<number[]> {
    const rows = await this.#runQuery<{ id: number }>(
      "SELECT DISTINCT project_id AS id FROM channel_counters",
    );
    return rows.map(({ id }) => id);
  }

  /** Prepares for appending after the last arrival, and returns that. */
  async resume(): Promise<ArrivalStamp | null> {
    // Wait for a batch of a killed process that can still be in progress.
    await this.#runQuery("SELECT lock_events()");
    // A failed batch has advanced the sequence without storing anything: set it back.
    const [row] = await this.#runQuery<{ ms: number | null; sequence: number | null }>(
      `SELECT last >> 20 AS ms, (last & 1048575)::integer AS sequence, setval('last_arrival', coalesce(last, 0), last IS NOT NULL)
       FROM (SELECT max(arrival) AS last FROM events) AS arrivals`,
    );
    return row!.ms === null ? null : { ms: row!.ms, sequence: row!.sequence! };
  }

  /**
   * Stores events that arrived after all existing ones. `stored` resolves once they are stored. The next call can come
   * before that, to prepare its events meanwhile.
   */
  async append(events: readonly AcceptedEvent[]): Promise<{ stored: Promise<void> }> {
    const missing = events.filter(({ createdAtMs }) => !this.#partitions.holds(createdAtMs));
    if (missing.length > 0) await this.#partitions.make(missing.map(({ createdAtMs }) => createdAtMs));
    const units = events.map((event) => ({ events: [event], companion: null }));
    const stored = this.#append(units).then(({ commit }) => {
      if (commit.shift > 0 || commit.created.length < events.length) {
        throw new Error("Another process stores events in that database");
      }
    });
    stored.catch(() => {});
    return { stored };
  }

  /** Removes events with everything that belongs to them. */
  async removeEvents(projectId: number, events: readonly ComparedRow[]): Promise<void> {
    await this.#runQuery("SELECT remove_events($1, $2, $3, NULL)", [
      projectId,
      bigints(events.map(({ key }) => key[0] as number)),
      uuids(events.map(({ key }) => key[1] as string)),
    ]);
  }

  /** Sets whether events notified. */
  async setNotified(projectId: number, events: readonly StoredEvent[]): Promise<void> {
    await this.#runQuery(
      `UPDATE events SET notified = changed.notified = 1
       FROM unnest($2::bigint[], $3::uuid[], $4::integer[]) AS changed (created_at, id, notified)
       WHERE events.project_id = $1 AND events.created_at = changed.created_at AND events.id = changed.id`,
      [
        projectId,
        bigints(events.map(({ createdAtMs }) => createdAtMs)),
        uuids(events.map(({ id }) => id)),
        integers(events.map(({ notified }) => (notified ? 1 : 0))),
      ],
    );
  }

  /** Updates the planner's statistics, which autovacuum would do later. */
  async analyze(): Promise<void> {
    const all = [
      ...tables.map(({ name }) => name),
      "events",
      "sent_ids",
      "counters",
      "channel_counters",
      "vocabulary",
    ];
    await this.#runQuery(`ANALYZE ${all.join(", ")}`);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function recordset(table: Table, rows: readonly TableRow[]): string {
  if (!table.bytes) return JSON.stringify(rows.map(({ values }) => values));
  const withBytes = rows.map(({ values }) => {
    const all = { ...values };
    for (const name of table.bytes!) all[name] = `\\x${all[name]}`;
    return all;
  });
  return JSON.stringify(withBytes);
}
