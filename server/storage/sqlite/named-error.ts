import type { SQLiteError } from "bun:sqlite";

/**
 * The error of opening a database, with the file and SQLite's code. SQLite's own message, such as "unable to open
 * database file", has neither.
 */
export function namedError(error: unknown, file: string): Error {
  const { code, message } = error as SQLiteError;
  // A new error, because a thread passes on only the message that an error was made with.
  return Object.assign(new Error(`${file}: ${message} (${code})`, { cause: error }), { code });
}
