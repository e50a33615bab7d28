/**
 * The writer: the only thread with a connection that writes. It is sent batches of events and statements on the control
 * tables, one at a time, and answers each after its commit's fsync.
 */
import type { SQLQueryBindings } from "bun:sqlite";
import type { BatchAnswer, BatchResults, Failed } from "../queue.ts";
import type { AppendResult, OneEvent, RejectedEvent, RejectedRetention, Removal, Removed } from "../store.ts";
import { createAppend } from "./append.ts";
import { type CompanionBatch, createAppendWith } from "./append-with.ts";
import { decodeBatch } from "./batch.ts";
import { createCounterWriter } from "./counter-writer.ts";
import { createRemove } from "./delete-events.ts";
import { StatementError, storageProblem } from "./failure.ts";
import { createMerging } from "./merging.ts";
import { databaseFile, openForWriting } from "./open.ts";
import { createPurge, type PurgeStep } from "./purge.ts";
import { createKeepRejected } from "./rejected.ts";
import { type BlockStep, createBlockWriter } from "./write-blocks.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<WriterRequest>) => void };

export type AppendRequest = {
  kind: "append";
  batch: string;
  tied?: CompanionBatch[];
  rejected?: { events: RejectedEvent[]; keeping: RejectedRetention };
};

export type WriterRequest =
  | AppendRequest
  | { kind: "execute"; sql: string; parameters: readonly unknown[] }
  | { kind: "remove"; removal: Removal | OneEvent; limit: number; jobId: string | undefined }
  | { kind: "removeEmptyChannel"; projectId: number; name: string }
  | { kind: "scrub"; step: PurgeStep }
  | { kind: "settle" }
  | { kind: "digest"; step: BlockStep }
  | { kind: "close" };

export type ExecuteResult = { rows: unknown[]; changes: number; lastInsertRowid: number | bigint };

export type AppendAnswer = { kind: "appended" } & BatchAnswer;

export type WriterAnswer =
  | { kind: "ready" }
  | AppendAnswer
  | { kind: "executed"; result: ExecuteResult }
  | { kind: "removed"; removed: Removed }
  | { kind: "stepped"; isMore: boolean }
  | { kind: "settled" }
  | Failed
  | { kind: "closed" };

const database = openForWriting(databaseFile(process.argv.at(-1)!));
const counting = createCounterWriter(database);
const merging = createMerging(database);
const digests = createBlockWriter(database);
const append = createAppend(database, counting, merging, digests);
const appendTied = createAppendWith(database, append);
const keepRejected = createKeepRejected(database);
const remove = createRemove(database, counting, merging, digests);
const scrub = createPurge(database, digests);
const deleteEmptyChannel = database.prepare(
  "DELETE FROM channels WHERE project_id = ?1 AND name = ?2 AND events <= 0",
);
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rollback = database.prepare("ROLLBACK");

function committed<Result>(work: () => Result): Result {
  begin.run();
  try {
    const result = work();
    counting.write();
    merging.step();
    commit.run();
    return result;
  } catch (error) {
    counting.rolledBack();
    if (database.inTransaction) rollback.run();
    throw error;
  }
}

function appendBatch({ batch, tied = [], rejected }: AppendRequest): AppendAnswer {
  const events = decodeBatch(batch);
  try {
    return committed(() => {
      const verdicts = append(events);
      const tiedVerdicts = tied.map(appendTied);
      if (rejected) keepRejected(rejected.events, rejected.keeping);
      return appended(verdicts, tiedVerdicts);
    });
  } catch (error) {
    if (!(storageProblem(failed(error).code, "") instanceof StatementError)) throw error;
    // One event that can't be stored, such as one of a project that is gone, is not to reject those that share its commit.
    const verdicts = events.map((event) => alone(() => append([event])[0]!));
    const tiedVerdicts = tied.map((each) => alone(() => appendTied(each)));
    if (rejected) alone(() => keepRejected(rejected.events, rejected.keeping));
    return appended(verdicts, tiedVerdicts);
  }
}

function alone<Result>(work: () => Result): Result | Failed {
  try {
    return committed(work);
  } catch (error) {
    return failed(error);
  }
}

function appended(
  verdicts: (AppendResult | Failed)[],
  tied: (AppendResult[] | null | Failed)[],
): AppendAnswer {
  const news: BatchResults = [];
  for (let index = 0; index < verdicts.length; index++) {
    const verdict = verdicts[index]!;
    if (verdict.kind !== "created" || verdict.notified) news.push([index, verdict]);
  }
  return { kind: "appended", news, tied };
}

function failed(error: unknown): Failed {
  const { code, message } = error as { code?: string; message: string };
  return { kind: "failed", code: code ?? "SQLITE_ERROR", message };
}

/** Brings the counters up to date, in a commit of its own. */
function settle(): void {
  if (counting.isBehind && !database.inTransaction) committed(counting.settle);
}

function execute(sql: string, parameters: readonly unknown[]): WriterAnswer {
  // It may remove channels.
  counting.forgetChannels();
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
      return appendBatch(request);
    case "execute":
      return execute(request.sql, request.parameters);
    case "remove": {
      const { removal, limit, jobId } = request;
      return { kind: "removed", removed: committed(() => remove(removal, limit, jobId)) };
    }
    case "removeEmptyChannel":
      committed(() => {
        // What is not counted yet is an event, too.
        counting.settle();
        deleteEmptyChannel.run(request.projectId, request.name);
      });
      counting.forgetChannels();
      return { kind: "settled" };
    case "scrub":
      return { kind: "stepped", isMore: scrub[request.step]() };
    case "digest": {
      const { step } = request;
      return { kind: "stepped", isMore: committed(() => digests.step(step)) };
    }
    case "settle":
      settle();
      return { kind: "settled" };
    case "close":
      settle();
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
