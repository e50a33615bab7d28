import type { Database, SQLiteError, SQLQueryBindings } from "bun:sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { ErrorOf } from "./damage.ts";
import type { Writer } from "./writer.ts";
import type { ExecuteResult } from "./writer-thread.ts";

type Run = (sql: string, parameters: readonly unknown[]) => Promise<ExecuteResult>;

/**
 * Kysely over the writer thread. Statements that write go to the writer; a transaction holds it until its end. A
 * `SELECT` outside a transaction runs at once on this thread, on a read-only connection: the control tables are small.
 */
export function createDialect(writer: Writer, reading: Database, errorOf: ErrorOf): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new WriterDriver(writer, reading, errorOf),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class WriterDriver implements Driver {
  readonly #writer: Writer;
  readonly #reading: Database;
  readonly #errorOf: ErrorOf;

  constructor(writer: Writer, reading: Database, errorOf: ErrorOf) {
    this.#writer = writer;
    this.#reading = reading;
    this.#errorOf = errorOf;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<WriterConnection> {
    return new WriterConnection(this.#writer, this.#reading, this.#errorOf);
  }

  async beginTransaction(connection: WriterConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: WriterConnection): Promise<void> {
    await connection.end("COMMIT");
  }

  async rollbackTransaction(connection: WriterConnection): Promise<void> {
    await connection.end("ROLLBACK");
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}

class WriterConnection implements DatabaseConnection {
  readonly #writer: Writer;
  readonly #reading: Database;
  readonly #errorOf: ErrorOf;
  #transaction: { run: Run; release: () => void } | null = null;

  constructor(writer: Writer, reading: Database, errorOf: ErrorOf) {
    this.#writer = writer;
    this.#reading = reading;
    this.#errorOf = errorOf;
  }

  async begin(): Promise<void> {
    await new Promise<void>((held, failed) => {
      this.#writer
        .transaction(async (run) => {
          await run("BEGIN IMMEDIATE", []);
          await new Promise<void>((release) => {
            this.#transaction = { run, release };
            held();
          });
        })
        .catch(failed);
    });
  }

  async end(statement: "COMMIT" | "ROLLBACK"): Promise<void> {
    const { run, release } = this.#transaction!;
    // If the commit fails, Kysely rolls back; the writer stays held until then.
    let isOver = statement === "ROLLBACK";
    try {
      await run(statement, []);
      isOver = true;
    } finally {
      if (isOver) {
        this.#transaction = null;
        release();
      }
    }
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (!this.#transaction && SelectQueryNode.is(query)) {
      return { rows: this.#read<Row>(sql, parameters as SQLQueryBindings[]) };
    }
    const run = this.#transaction?.run ?? ((sql, parameters) => this.#writer.execute(sql, parameters));
    const { rows, changes, lastInsertRowid } = await run(sql, parameters);
    return {
      rows: rows as Row[],
      insertId: BigInt(lastInsertRowid),
      numAffectedRows: BigInt(changes),
    };
  }

  #read<Row>(sql: string, parameters: SQLQueryBindings[]): Row[] {
    try {
      return this.#reading.query<Row, SQLQueryBindings[]>(sql).all(...parameters);
    } catch (error) {
      const { code, message } = error as SQLiteError;
      throw this.#errorOf(code ?? "SQLITE_ERROR", message);
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for the method; nothing here streams
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("The control tables are small and are not streamed.");
  }
}
