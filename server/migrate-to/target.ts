import type { Pool, QueryConfig, QueryResultRow } from "pg";
import type { ArrivalStamp } from "../event/id.ts";
import { createAppend } from "../storage/postgres/append.ts";
import { bigints, uuids } from "../storage/postgres/arrays.ts";
import { migrate } from "../storage/postgres/migrate.ts";
import { moving, movingSetting } from "../storage/postgres/migration-guard.ts";
import { Partitions } from "../storage/postgres/partitions.ts";
import { openPool } from "../storage/postgres/pool.ts";
import type { Query } from "../storage/postgres/query.ts";
import { NewTexts } from "../storage/postgres/vocabulary.ts";
import type { AcceptedEvent } from "../storage/store.ts";
import { pagesOf } from "./pages.ts";
import { MoveRefused } from "./refused.ts";
import { type EventRow, type StoredEvent, storedEvent } from "./stored-event.ts";
import { type Entry, type Table, type TableRow, tableRow, tables, type Value } from "./tables.ts";

const connections = 3;
/** Nothing that is asked of it takes so long, but for statistics of very large tables. */
const statementMs = 10 * 60_000;

/** The database into which is moved. Nobody else works on it meanwhile. */
export class Target {
  readonly #pool: Pool;
  readonly #partitions: Partitions;
  readonly #append: ReturnType<typeof createAppend>;
  /** The batch that was sent last. */
  #appended: Promise<unknown> = Promise.resolve();

  private constructor(pool: Pool) {
    this.#pool = pool;
    this.#partitions = new Partitions(this.#ask);
    // One batch after another, and none after one that failed: what is there is all up to the last arrival.
    const askInOrder: Query = (sql, parameters) => {
      const rows = this.#appended.then(() => this.#ask(sql, parameters));
      this.#appended = rows;
      rows.catch(() => {});
      return rows as never;
    };
    this.#append = createAppend(askInOrder, crypto.randomUUID(), this.#partitions, new NewTexts());
  }

  /** Brings the database to this program's version. Throws where it can't be reached, or is none to work on. */
  static async open(url: string, onError: (error: Error) => void): Promise<Target> {
    const pool = openPool({ url, connections }, onError);
    try {
      await migrate(pool);
      return new Target(pool);
    } catch (error) {
      await pool.end();
      const { message, code } = error as Error & { code?: string };
      // Where several addresses were tried, the error of all has a code and no message.
      throw new MoveRefused(`That database can't be used: ${message || code}`);
    }
  }

  readonly #ask: Query = async <Row extends QueryResultRow>(
    sql: string,
    parameters: readonly unknown[] = [],
  ) => {
    const asked: QueryConfig & { query_timeout: number } = {
      text: sql,
      values: parameters as unknown[],
      query_timeout: statementMs,
    };
    return (await this.#pool.query<Row>(asked)).rows;
  };

  /** It is marked as one that is being moved to, or was, and that nobody works on yet. */
  async isBegun(): Promise<boolean> {
    return (await this.setting(movingSetting)) !== null;
  }

  /** Marks the database as one that is being moved to. Throws where it holds something else. */
  async begin(): Promise<void> {
    const known = await this.#ask("UPDATE settings SET value = $2 WHERE name = $1 RETURNING name", [
      movingSetting,
      moving.underWay,
    ]);
    if (known.length > 0) return;
    // What a server makes of itself at its first start, in the settings, is no loss.
    const holders = [...tables.map(({ name }) => name).filter((name) => name !== "settings"), "events"];
    const begun = await this.#ask(
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

  /** All is there, and agrees: a server may take it over. */
  async finish(): Promise<void> {
    await this.#ask("UPDATE settings SET value = $2 WHERE name = $1", [movingSetting, moving.done]);
  }

  async setting(name: string): Promise<string | null> {
    const [row] = await this.#ask<{ value: string }>("SELECT value FROM settings WHERE name = $1", [name]);
    return row?.value ?? null;
  }

  /** There are accounts, and none of these is among them. */
  async hasOtherAccounts(ids: readonly string[]): Promise<boolean> {
    const [row] = await this.#ask<{ isOther: boolean }>(
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
      this.#ask,
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
      this.#ask,
      `SELECT project_id AS "projectId", id, created_at, created_at AS ms, body, arrival >> 20 AS "arrivalMs",
         (arrival & 1048575)::integer AS sequence, notified, octet_length(body) AS page_bytes
       FROM events`,
      `project_id = ${projectId}`,
      ["created_at", "id"],
      ({ ms, id }) => [ms, id],
    );
    for await (const page of pages) yield page.map((row) => storedEvent(row, row.notified));
  }

  /** Stores rows as they are, whether or not there are some of these keys. */
  async put(table: Table, columns: readonly string[], rows: readonly TableRow[]): Promise<void> {
    const values = columns
      .filter((name) => !table.key.includes(name))
      .map((name) => `${name} = excluded.${name}`);
    await this.#ask(
      `INSERT INTO ${table.name} (${columns.join(", ")})
       SELECT ${columns.join(", ")} FROM json_populate_recordset(NULL::${table.name}, $1::json)
       ON CONFLICT (${table.key.join(", ")}) DO UPDATE SET ${values.join(", ")}`,
      [recordset(table, rows)],
    );
  }

  async remove(table: Table, rows: readonly TableRow[]): Promise<void> {
    const key = table.key.join(", ");
    await this.#ask(
      `DELETE FROM ${table.name} WHERE (${key}) IN (SELECT ${key} FROM json_populate_recordset(NULL::${table.name}, $1::json))`,
      [recordset(table, rows)],
    );
  }

  /** Ids that the table hands out go on behind this one. */
  async numberFrom({ name }: Table, last: number): Promise<void> {
    await this.#ask(
      "SELECT setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1), $2::bigint > 0)",
      [name, last],
    );
  }

  async countEvents(): Promise<number> {
    const [row] = await this.#ask<{ events: number }>(
      "SELECT coalesce(sum(events), 0) AS events FROM channel_counters",
    );
    return row!.events;
  }

  /** Of these projects there are events. */
  async projectsOfEvents(): Promise<number[]> {
    const rows = await this.#ask<{ id: number }>("SELECT DISTINCT project_id AS id FROM channel_counters");
    return rows.map(({ id }) => id);
  }

  /** Makes ready to append behind the last arrival that is there, and gives it. */
  async resume(): Promise<ArrivalStamp | null> {
    // Should a batch of a process that was killed be under way still, it is waited for.
    await this.#ask("SELECT lock_events()");
    // One that failed has moved the sequence, and stored nothing.
    const [row] = await this.#ask<{ ms: number | null; sequence: number | null }>(
      `SELECT last >> 20 AS ms, (last & 1048575)::integer AS sequence, setval('last_arrival', coalesce(last, 0), last IS NOT NULL)
       FROM (SELECT max(arrival) AS last FROM events) AS arrivals`,
    );
    return row!.ms === null ? null : { ms: row!.ms, sequence: row!.sequence! };
  }

  /**
   * Stores events that arrived after all that are there, and resolves once they are. The next ones may be given before: they are made
   * ready meanwhile.
   */
  async append(events: readonly AcceptedEvent[]): Promise<{ stored: Promise<void> }> {
    const missing = events.filter(({ createdAtMs }) => !this.#partitions.holds(createdAtMs));
    if (missing.length > 0) await this.#partitions.make(missing.map(({ createdAtMs }) => createdAtMs));
    const units = events.map((event) => ({ events: [event], tied: null }));
    const stored = this.#append(units).then(({ commit }) => {
      if (commit.shift > 0 || commit.created.length < events.length) {
        throw new Error("Another process stores events in that database");
      }
    });
    stored.catch(() => {});
    return { stored };
  }

  /** Removes events with all that belongs to them. */
  async removeEvents(projectId: number, events: readonly Entry[]): Promise<void> {
    await this.#ask("SELECT remove_events($1, $2, $3, NULL)", [
      projectId,
      bigints(events.map(({ key }) => key[0] as number)),
      uuids(events.map(({ key }) => key[1] as string)),
    ]);
  }

  /** Counts what the planner is to know of the tables; it would do so by itself in a while. */
  async analyze(): Promise<void> {
    const all = [
      ...tables.map(({ name }) => name),
      "events",
      "sent_ids",
      "counters",
      "channel_counters",
      "vocabulary",
    ];
    await this.#ask(`ANALYZE ${all.join(", ")}`);
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
