/**
 * The checkpointer: a thread that moves what was committed from the write-ahead log into the database
 * (https://www.sqlite.org/wal.html#ckpt). The writer would do so by itself, and hold up events meanwhile.
 */
import { databaseFile, openForCheckpoints } from "./open.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<CheckpointRequest>) => void };

export type CheckpointRequest = "checkpoint" | "close";
/** Null where it went well. */
export type CheckpointAnswer = { code: string; message: string } | null;

const database = openForCheckpoints(databaseFile(process.argv.at(-1)!));
// It waits for nobody: what a reader still needs stays in the log until the next time.
const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");

self.onmessage = ({ data: request }) => {
  let answer: CheckpointAnswer = null;
  try {
    if (request === "checkpoint") checkpoint.run();
    else database.close();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    answer = { code: code ?? "SQLITE_ERROR", message };
  }
  self.postMessage(answer);
};
self.postMessage(null satisfies CheckpointAnswer);
