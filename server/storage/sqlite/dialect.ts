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
import type { WriterWork } from "../store.ts";
import type { ErrorOf } from "./damage.ts";
import type { Writer } from "./writer.ts";
import type { Check, ExecuteResult, Statement } from "./writer-thread.ts";

type Run = (sql: string, parameters: readonly unknown[]) => Promise<ExecuteResult>;

export type DialectDeps = { writer: Writer; reading: Database; errorOf: ErrorOf };

/**
 * Kysely over the writer thread. A `SELECT` outside a transaction runs at once on this thread, on a read-only
 * connection: the control tables are small.
 *
 * Invariant: control tables are written through the writer too, and an ordinary transaction holds it until its end.
 * Checked by `server/storage/store.test.ts`.
 */
export function createDialect(deps: DialectDeps, work: WriterWork = "control"): Dialect {
  return dialectOf(() => new WriterConnection(deps, work));
}

/** Kysely for `Together`: a transaction is one message to the writer. Throws `Conflict` if it has to run again. */
export function createDeferredDialect(deps: DialectDeps, work: WriterWork): Dialect {
  return dialectOf(() => new DeferredConnection(deps, work));
}

/** Rows that a transaction read have changed before its commit. */
export class Conflict extends Error {}

interface WriterLikeConnection extends DatabaseConnection {
  begin(): Promise<void>;
  end(statement: "COMMIT" | "ROLLBACK"): Promise<void>;
}

function dialectOf(connect: () => WriterLikeConnection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new WriterDriver(connect),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class WriterDriver implements Driver {
  readonly #connect: () => WriterLikeConnection;

  constructor(connect: () => WriterLikeConnection) {
    this.#connect = connect;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<WriterLikeConnection> {
    return this.#connect();
  }

  async beginTransaction(connection: WriterLikeConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: WriterLikeConnection): Promise<void> {
    await connection.end("COMMIT");
  }

  async rollbackTransaction(connection: WriterLikeConnection): Promise<void> {
    await connection.end("ROLLBACK");
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}

function readRows<Row>({ reading, errorOf }: DialectDeps, sql: string, parameters: SQLQueryBindings[]) {
  try {
    return reading.query<Row, SQLQueryBindings[]>(sql).all(...parameters);
  } catch (error) {
    const { code, message } = error as SQLiteError;
    throw errorOf(code ?? "SQLITE_ERROR", message);
  }
}

class DeferredConnection implements WriterLikeConnection {
  readonly #deps: DialectDeps;
  readonly #work: WriterWork;
  #checks: Check[] = [];
  #statements: Statement[] = [];

  constructor(deps: DialectDeps, work: WriterWork) {
    this.#deps = deps;
    this.#work = work;
  }

  async begin(): Promise<void> {
    this.#checks = [];
    this.#statements = [];
  }

  async end(statement: "COMMIT" | "ROLLBACK"): Promise<void> {
    if (statement === "ROLLBACK" || this.#statements.length === 0) return;
    const isCommitted = await this.#deps.writer.executeAll(this.#checks, this.#statements, this.#work);
    if (!isCommitted) throw new Conflict("What the transaction read has changed.");
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (SelectQueryNode.is(query)) {
      const rows = readRows<Row>(this.#deps, sql, parameters as SQLQueryBindings[]);
      this.#checks.push({ sql, parameters, rows: JSON.stringify(rows) });
      return { rows };
    }
    if ("returning" in query && query.returning !== undefined)
      throw new Error(`Nothing is returned before the commit: ${sql}`);
    this.#statements.push({ sql, parameters });
    return { rows: [] };
  }

  streamQuery(): never {
    throw new Error("The control tables are small and are not streamed.");
  }
}

class WriterConnection implements WriterLikeConnection {
  readonly #deps: DialectDeps;
  readonly #work: WriterWork;
  #transaction: { run: Run; release: () => void } | null = null;

  constructor(deps: DialectDeps, work: WriterWork) {
    this.#deps = deps;
    this.#work = work;
  }

  async begin(): Promise<void> {
    await new Promise<void>((held, failed) => {
      this.#deps.writer
        .hold(async (run) => {
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
      return { rows: readRows<Row>(this.#deps, sql, parameters as SQLQueryBindings[]) };
    }
    const run: Run =
      this.#transaction?.run ?? ((sql, parameters) => this.#deps.writer.execute(sql, parameters, this.#work));
    const { rows, changes, lastInsertRowid } = await run(sql, parameters);
    return {
      rows: rows as Row[],
      insertId: BigInt(lastInsertRowid),
      numAffectedRows: BigInt(changes),
    };
  }

  streamQuery(): never {
    throw new Error("The control tables are small and are not streamed.");
  }
}
