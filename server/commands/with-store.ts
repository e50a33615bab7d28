import { ConfigError, readConfig } from "../config/config.ts";
import { ProblemError } from "../core/problems.ts";
import { openStore } from "../process/open-store.ts";
import { DirectoryInUse } from "../storage/sqlite/directory-lock.ts";
import { NoDatabase, type Store } from "../storage/store.ts";
import { UnreadableFileError } from "../transfer/source-record.ts";
import { printError, printMessage } from "./output.ts";

/** How long to wait for a database that doesn't respond. */
const connectTimeoutMs = 10_000;

/**
 * Runs a command on the configured store, whether or not the server is running, and ends the process: with 0, or with 1
 * and a message on standard error.
 */
export function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  return runOnStore(work, false);
}

/** Runs a command as `withStore` does, and creates the database if there is none. */
export function withCreatedStore(work: (store: Store) => Promise<void>): Promise<void> {
  return runOnStore(work, true);
}

async function runOnStore(work: (store: Store) => Promise<void>, mayCreate: boolean): Promise<void> {
  let code = 0;
  try {
    const store = await openStore(readConfig(), {
      onFatal: failCommand,
      onDamage: failCommand,
      onInfo: () => {},
      onMigrating: () => {},
      onError: failCommand,
      // The server shows these warnings to whoever can act on them.
      onWarning: () => {},
      onWaiting: (why) => printMessage(`Waiting for the database: ${why}`),
      connectTimeoutMs,
      mayCreate,
      // A server of the older version may be running.
      mayUpgrade: false,
    });
    try {
      await work(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    code = failCommand(error);
  }
  process.exit(code);
}

/** Runs a change. What the API would answer with a problem is a mistake in the command's arguments. */
export async function asUsage<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    throw error instanceof ProblemError ? new UsageError(error.options.detail) : error;
  }
}

/** Prints why a command failed, and returns its exit code: 2 if it was used wrongly, otherwise 1. */
export function failCommand(error: unknown): 0 | 1 | 2 {
  // A reader such as `head` has enough.
  if ((error as { code?: string }).code === "EPIPE") return 0;
  const isExpected = [
    ConfigError,
    DirectoryInUse,
    NoDatabase,
    ProblemError,
    UsageError,
    UnreadableFileError,
  ].some((expected) => error instanceof expected);
  const text = error instanceof ProblemError ? error.options.detail : (error as Error).message;
  printError(isExpected ? text : `The command failed: ${text}`);
  return error instanceof ArgumentError ? 2 : 1;
}

/** A command can't do what it was asked. The message says why and how to fix it. */
export class UsageError extends Error {}

/** The command's arguments themselves are invalid. */
export class ArgumentError extends UsageError {}
