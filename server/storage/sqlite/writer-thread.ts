/**
 * The writer: the only thread with a connection that writes. It is sent batches of events and statements on the control
 * tables, one at a time, and answers each after its commit's fsync.
 */
import type { SQLQueryBindings } from "bun:sqlite";
import type { Verdict } from "../store.ts";
import { createAppend } from "./append.ts";
import { type BatchEvent, decodeBatch } from "./batch.ts";
import { StatementError, storageProblem } from "./failure.ts";
import { databaseFile, openForWriting } from "./open.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<WriterRequest>) => void };

export type WriterRequest =
  | { kind: "append"; batch: string }
  | { kind: "execute"; sql: string; parameters: readonly unknown[] }
  | { kind: "close" };

type Failed = { kind: "failed"; code: string; message: string };

/** Verdicts of a batch that hold news; the others are plain `created`. */
export type BatchNews = [index: number, verdict: Verdict | Failed][];

export type ExecuteResult = { rows: unknown[]; changes: number; lastInsertRowid: number | bigint };

export type WriterAnswer =
  | { kind: "ready" }
  | { kind: "appended"; news: BatchNews }
  | { kind: "executed"; result: ExecuteResult }
  | Failed
  | { kind: "closed" };

const database = openForWriting(databaseFile(process.argv.at(-1)!));
const append = createAppend(database);
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rollback = database.prepare("ROLLBACK");

function appendBatch(text: string): WriterAnswer {
  const events = decodeBatch(text);
  try {
    return appended(appendTogether(events));
  } catch (error) {
    if (!(storageProblem(failed(error).code, "") instanceof StatementError)) throw error;
    // One event that can't be stored, such as one of a project that is gone, is not to refuse those that share its commit.
    return appended(events.map(appendAlone));
  }
}

function appendTogether(events: BatchEvent[]): Verdict[] {
  begin.run();
  try {
    const verdicts = append(events);
    commit.run();
    return verdicts;
  } catch (error) {
    if (database.inTransaction) rollback.run();
    throw error;
  }
}

function appendAlone(event: BatchEvent): Verdict | Failed {
  try {
    return appendTogether([event])[0]!;
  } catch (error) {
    return failed(error);
  }
}

function appended(verdicts: (Verdict | Failed)[]): WriterAnswer {
  const news: BatchNews = [];
  for (let index = 0; index < verdicts.length; index++) {
    const verdict = verdicts[index]!;
    if (verdict.kind !== "created" || verdict.notified) news.push([index, verdict]);
  }
  return { kind: "appended", news };
}

function failed(error: unknown): Failed {
  const { code, message } = error as { code?: string; message: string };
  return { kind: "failed", code: code ?? "SQLITE_ERROR", message };
}

function execute(sql: string, parameters: readonly unknown[]): WriterAnswer {
  // At some failures, such as a full disk, SQLite rolls back by itself; the ROLLBACK that follows finds nothing to do.
  if (sql === "ROLLBACK" && !database.inTransaction) {
    return { kind: "executed", result: { rows: [], changes: 0, lastInsertRowid: 0 } };
  }
  const statement = database.query(sql);
  const bindings = parameters as SQLQueryBindings[];
  if (statement.columnNames.length > 0) {
    return { kind: "executed", result: { rows: statement.all(...bindings), changes: 0, lastInsertRowid: 0 } };
  }
  const { changes, lastInsertRowid } = statement.run(...bindings);
  return { kind: "executed", result: { rows: [], changes, lastInsertRowid } };
}

function answer(request: WriterRequest): WriterAnswer {
  switch (request.kind) {
    case "append":
      return appendBatch(request.batch);
    case "execute":
      return execute(request.sql, request.parameters);
    case "close":
      database.run("PRAGMA optimize");
      database.close();
      return { kind: "closed" };
  }
}

self.onmessage = ({ data: request }) => {
  try {
    self.postMessage(answer(request));
  } catch (error) {
    self.postMessage(failed(error) satisfies WriterAnswer);
  }
};
self.postMessage({ kind: "ready" } satisfies WriterAnswer);
