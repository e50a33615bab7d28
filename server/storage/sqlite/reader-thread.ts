/** A reader: a thread with a read-only connection, so that no query holds up the HTTP loop. */
import { setPriority } from "node:os";
import type { Cursor } from "../../event/filter.ts";
import type { ArrivalStamp } from "../../event/id.ts";
import type { CountQuery, EventQuery, KnownTexts, Removal, UserQuery } from "../store.ts";
import { createBlocks } from "./blocks.ts";
import { createBuildBlocks } from "./build-blocks.ts";
import { createCount } from "./count.ts";
import { createCountRemovable } from "./delete-events.ts";
import { createIndexedTexts } from "./indexed-texts.ts";
import { databaseFile, openForReading } from "./open.ts";
import { createRead } from "./read.ts";
import { startingWith } from "./starting-with.ts";
import { createUsers } from "./users.ts";
import { openVocabulary } from "./vocabulary.ts";
import type { BlockStep } from "./write-blocks.ts";

declare const self: Worker & {
  onmessage: (message: MessageEvent<{ id: number; request: ReaderRequest }>) => void;
};

export type ReaderRequest =
  | { kind: "page"; query: EventQuery; limit: number }
  | { kind: "chunk"; query: EventQuery; limit: number }
  | { kind: "find"; projectId: number; id: string }
  | { kind: "arrivedAfter"; projectId: number; moment: ArrivalStamp; limit: number }
  | { kind: "startingWith"; projectId: number; texts: KnownTexts; prefix: string; limit: number }
  | { kind: "count"; query: CountQuery }
  | { kind: "users"; query: UserQuery; limit: number }
  | { kind: "countRemovable"; removal: Removal }
  | { kind: "digest"; from: "the start" | "there"; nowMs: number }
  | { kind: "ping" }
  | { kind: "lastArrival" }
  | { kind: "close" };

/** What is next for digests to be made: a step on the writer, or a rest; null at the end. */
export type DigestOn = { step: BlockStep | null } | null;

export type ReaderAnswer = { id: number } & ({ result: unknown } | { code: string; message: string });

/** The result of `chunk`: events as UTF-8 in the query's form. */
export type Chunk = { bytes: Uint8Array<ArrayBuffer>; next: Cursor | null };

/**
 * How far this thread stands back (setpriority(2)) where it and those that record want the processor at once: complete listings then
 * cost events that arrive half the wait, and pages under the heaviest load a fifth more.
 */
const niceness = 5;

const [dataDirectory, blockEvents] = process.argv.slice(-2) as [string, string];
const database = openForReading(databaseFile(dataDirectory));
const vocabulary = openVocabulary(database);
const texts = createIndexedTexts(database, vocabulary);
const blocks = createBlocks(database);
const read = createRead(database, vocabulary, blocks);
const count = createCount(database, vocabulary, texts, blocks);
const users = createUsers(database, texts);
const countRemovable = createCountRemovable(database);
const digest = createBuildBlocks(database, Number(blockEvents));
const encoder = new TextEncoder();

// On Linux a thread has a priority of its own; elsewhere this would be the whole process's.
if (process.platform === "linux") {
  try {
    setPriority(niceness);
  } catch {
    // Where a sandbox forbids it, all threads are equal.
  }
}

let digesting: ReturnType<typeof digest> | null = null;

function digestOn(from: "the start" | "there", nowMs: number): DigestOn {
  if (from === "the start") digesting = null;
  digesting ??= digest(nowMs);
  const next = digesting.next();
  if (!next.done) return { step: next.value };
  digesting = null;
  return null;
}

function answer(request: ReaderRequest): unknown {
  switch (request.kind) {
    case "page":
      return read.page(request.query, request.limit);
    case "chunk": {
      const { text, next } = read.chunk(request.query, request.limit);
      return { bytes: encoder.encode(text), next } satisfies Chunk;
    }
    case "find":
      return read.find(request.projectId, request.id);
    case "arrivedAfter":
      return read.arrivedAfter(request.projectId, request.moment, request.limit);
    case "startingWith":
      return startingWith(vocabulary, request.projectId, request.texts, request.prefix, request.limit);
    case "count":
      return count(request.query);
    case "users":
      return users(request.query, request.limit);
    case "countRemovable":
      return countRemovable(request.removal);
    case "digest":
      return digestOn(request.from, request.nowMs);
    case "ping":
      return read.ping();
    case "lastArrival":
      return read.lastArrival();
    case "close":
      database.close();
      return null;
  }
}

self.onmessage = async ({ data: { id, request } }) => {
  try {
    const result = await answer(request);
    const transfer = request.kind === "chunk" ? [(result as Chunk).bytes.buffer] : [];
    self.postMessage({ id, result } satisfies ReaderAnswer, transfer);
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    self.postMessage({ id, code: code ?? "SQLITE_ERROR", message } satisfies ReaderAnswer);
  }
};
self.postMessage({ id: 0, result: null } satisfies ReaderAnswer);
