/**
 * The checkpointer: a thread that moves committed pages from the write-ahead log into the database
 * (https://www.sqlite.org/wal.html#ckpt). Otherwise the writer would do it, and events would wait.
 */
import { databaseFile, openForCheckpoints } from "./open.ts";
import { makeRoom } from "./reserve.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<CheckpointRequest>) => void };

export type CheckpointRequest = "checkpoint" | "makeRoom" | "close";
/** Null for success. */
export type CheckpointAnswer = { code: string; message: string } | null;

const dataDirectory = process.argv.at(-1)!;
const file = databaseFile(dataDirectory);
const database = openForCheckpoints(file);
// PASSIVE never waits: pages that a reader still needs stay in the log until the next checkpoint.
const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");

self.onmessage = ({ data: request }) => {
  let answer: CheckpointAnswer = null;
  try {
    if (request === "checkpoint") checkpoint.run();
    else if (request === "makeRoom") makeRoom(dataDirectory);
    else database.close();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    answer = { code: code ?? "SQLITE_ERROR", message };
  }
  self.postMessage(answer);
};
self.postMessage(null satisfies CheckpointAnswer);
