/**
 * The writer: the only thread with a connection that writes. It receives batches of events and statements on the
 * control tables, and answers each after its commit's fsync.
 */
import type { SQLQueryBindings } from "bun:sqlite";
import type { AppendResult, RejectedEvent, RejectedRetention } from "../event-store.ts";
import { createAppend } from "./append.ts";
import { type CompanionBatch, createAppendWith } from "./append-with.ts";
import { decodeBatch } from "./batch.ts";
import { createBodies } from "./bodies.ts";
import { createCounterWriter } from "./counter-writer.ts";
import { createRemove, type RemovedSome, type SomeEvents } from "./delete-events.ts";
import { StatementError, storageProblem } from "./failure.ts";
import { createMerging } from "./merging.ts";
import { databaseFile, openForWriting } from "./open.ts";
import { createPackBodies } from "./pack-bodies.ts";
import { createPurge, type PurgeStep } from "./purge.ts";
import { createKeepRejected } from "./rejected.ts";
import { requireRoom } from "./reserve.ts";
import { type BlockStep, createBlockWriter } from "./write-blocks.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<WriterRequest>) => void };

export type AppendRequest = {
  kind: "append";
  batch: string;
  withCompanion?: CompanionBatch[];
  rejected?: { events: RejectedEvent[]; retention: RejectedRetention };
};

/** A statement, and its rows as JSON if the transaction depends on them. */
export type Statement = { sql: string; parameters: readonly unknown[] };
export type Check = Statement & { rows: string };

export type WriterRequest =
  | AppendRequest
  | ({ kind: "execute" } & Statement)
  | { kind: "executeAll"; checks: Check[]; statements: Statement[] }
  | { kind: "remove"; some: SomeEvents; jobId: string | undefined }
  | { kind: "removeEmptyChannel"; projectId: number; name: string }
  | { kind: "purge"; step: PurgeStep }
  | { kind: "zeroUnallocated"; first: number }
  | { kind: "flushCounters" }
  | { kind: "buildBlock"; step: BlockStep }
  | { kind: "packBodies"; blockEventsMin: number }
  | { kind: "close" };

export type ExecuteResult = { rows: unknown[]; changes: number; lastInsertRowid: number | bigint };

/** The error of a failed request; `code` is SQLite's own. */
export type Failed = { kind: "failed"; code: string; message: string };

/** Like `BatchResults`. */
export type AppendAnswer = {
  kind: "appended";
  listed: [index: number, result: AppendResult | Failed][];
  withCompanion: (AppendResult[] | null | Failed)[];
  /** Milliseconds of the COMMIT. */
  syncMs: number;
};

export type WriterAnswer = {
  /** Milliseconds for which the writer worked on the request, with its fsync. */
  heldMs?: number;
} & (
  | { kind: "ready" }
  | AppendAnswer
  | { kind: "executed"; result: ExecuteResult }
  | { kind: "executedAll"; isConflict: boolean }
  | { kind: "removed"; removed: RemovedSome }
  | { kind: "stepped"; isMore: boolean }
  /** A step had nothing to do, or was the last one. */
  | { kind: "idle" }
  | { kind: "zeroed"; next: number | null }
  | { kind: "done" }
  | Failed
  | { kind: "closed" }
);

/** The writer reads bodies only to remove events and to answer for duplicates. */
const cacheCharacters = 512 * 1_024;

const dataDirectory = process.argv.at(-1)!;
const file = databaseFile(dataDirectory);
const database = openForWriting(file);
const counterWriter = createCounterWriter(database);
const merging = createMerging(database);
const blockWriter = createBlockWriter(database);
const bodies = createBodies(database, cacheCharacters);
const packBodies = createPackBodies(database);
const append = createAppend(database, counterWriter, merging, blockWriter, bodies);
const appendWith = createAppendWith(database, append);
const keepRejected = createKeepRejected(database);
const remove = createRemove(database, counterWriter, merging, blockWriter, bodies, packBodies);
const purge = createPurge(database, file, blockWriter, packBodies);
const deleteEmptyChannel = database.prepare(
  "DELETE FROM channels WHERE project_id = ?1 AND name = ?2 AND events <= 0",
);
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rollback = database.prepare("ROLLBACK");

/** Milliseconds of the last COMMIT: it writes the log and waits for its fsync. */
let syncMs = 0;

function inTransaction<Result>(work: () => Result): Result {
  begin.run();
  try {
    const result = work();
    counterWriter.write();
    merging.step();
    const startMs = performance.now();
    commit.run();
    syncMs = performance.now() - startMs;
    return result;
  } catch (error) {
    counterWriter.rolledBack();
    packBodies.rolledBack();
    if (database.inTransaction) rollback.run();
    throw error;
  }
}

function appendBatch({ batch, withCompanion = [], rejected }: AppendRequest): AppendAnswer {
  const events = decodeBatch(batch);
  try {
    const [results, companionResults] = inTransaction(() => {
      const results = append(events);
      const companionResults = withCompanion.map(appendWith);
      if (rejected) keepRejected(rejected.events, rejected.retention);
      return [results, companionResults] as const;
    });
    return appendAnswer(results, companionResults);
  } catch (error) {
    if (!(storageProblem(failure(error).code, "") instanceof StatementError)) throw error;
    // An event that can't be stored, such as one of a deleted project, must not fail the others. Store each on its own.
    const results = events.map((event) => inOwnTransaction(() => append([event])[0]!));
    const companionResults = withCompanion.map((each) => inOwnTransaction(() => appendWith(each)));
    if (rejected) inOwnTransaction(() => keepRejected(rejected.events, rejected.retention));
    return appendAnswer(results, companionResults);
  }
}

function inOwnTransaction<Result>(work: () => Result): Result | Failed {
  try {
    return inTransaction(work);
  } catch (error) {
    return failure(error);
  }
}

function appendAnswer(
  results: (AppendResult | Failed)[],
  withCompanion: (AppendResult[] | null | Failed)[],
): AppendAnswer {
  const listed: AppendAnswer["listed"] = [];
  for (let index = 0; index < results.length; index++) {
    const result = results[index]!;
    if (result.kind !== "created") listed.push([index, result]);
  }
  return { kind: "appended", listed, withCompanion, syncMs };
}

function failure(error: unknown): Failed {
  const { code, message } = error as { code?: string; message: string };
  return { kind: "failed", code: code ?? "SQLITE_ERROR", message };
}

function flushCounters(): void {
  if (counterWriter.isBehind && !database.inTransaction) inTransaction(counterWriter.flush);
}

function execute(sql: string, parameters: readonly unknown[]): WriterAnswer {
  // The statement can remove channels.
  counterWriter.forgetChannels();
  // After some failures, such as a full disk, SQLite has rolled back by itself, and Kysely's ROLLBACK has nothing to
  // do.
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

/** Runs statements in one transaction, unless the rows that they depend on have changed. */
function executeAll(checks: Check[], statements: Statement[]): WriterAnswer {
  counterWriter.forgetChannels();
  begin.run();
  try {
    const isConflict = checks.some(
      ({ sql, parameters, rows }) =>
        JSON.stringify(database.query(sql).all(...(parameters as SQLQueryBindings[]))) !== rows,
    );
    if (isConflict) rollback.run();
    else {
      for (const { sql, parameters } of statements)
        database.query(sql).run(...(parameters as SQLQueryBindings[]));
      commit.run();
    }
    return { kind: "executedAll", isConflict };
  } catch (error) {
    if (database.inTransaction) rollback.run();
    throw error;
  }
}

function answer(request: WriterRequest): WriterAnswer {
  switch (request.kind) {
    case "append":
      requireRoom(database, dataDirectory);
      return appendBatch(request);
    case "executeAll":
      return executeAll(request.checks, request.statements);
    case "execute":
      return execute(request.sql, request.parameters);
    case "remove": {
      const { some, jobId } = request;
      return { kind: "removed", removed: inTransaction(() => remove(some, jobId)) };
    }
    case "removeEmptyChannel":
      inTransaction(() => {
        // An event that is not counted yet keeps the channel, too.
        counterWriter.flush();
        deleteEmptyChannel.run(request.projectId, request.name);
      });
      counterWriter.forgetChannels();
      return { kind: "done" };
    case "purge":
      return purge.steps[request.step]() ? { kind: "stepped", isMore: true } : { kind: "idle" };
    case "zeroUnallocated":
      return { kind: "zeroed", next: purge.zeroUnallocated(request.first) };
    case "buildBlock": {
      const { step } = request;
      requireRoom(database, dataDirectory);
      return { kind: "stepped", isMore: inTransaction(() => blockWriter.step(step)) };
    }
    case "packBodies": {
      const { blockEventsMin } = request;
      // An idle server writes nothing.
      if (!packBodies.isBehind(blockEventsMin)) return { kind: "idle" };
      requireRoom(database, dataDirectory);
      return { kind: "stepped", isMore: inTransaction(() => packBodies.step(blockEventsMin)) };
    }
    case "flushCounters":
      flushCounters();
      return { kind: "done" };
    case "close":
      flushCounters();
      database.run("PRAGMA optimize");
      database.close();
      return { kind: "closed" };
  }
}

self.onmessage = ({ data: request }) => {
  const startMs = performance.now();
  let answered: WriterAnswer;
  try {
    answered = answer(request);
  } catch (error) {
    answered = failure(error);
  }
  answered.heldMs = performance.now() - startMs;
  self.postMessage(answered);
};
self.postMessage({ kind: "ready" } satisfies WriterAnswer);
