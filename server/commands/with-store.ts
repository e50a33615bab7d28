import { ConfigError, readConfig } from "../config.ts";
import { openStore } from "../open-store.ts";
import { ProblemError } from "../problems.ts";
import type { Store } from "../storage/store.ts";

/** How long a database that does not answer is waited for. */
const connectTimeoutMs = 10_000;

/**
 * Runs a command on the store that the settings name, whether or not the server is running, and ends the process: with 0,
 * or with 1 and a sentence on standard error.
 */
export async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  let code = 0;
  try {
    const store = await openStore(readConfig(), {
      onFatal: fail,
      onDamage: fail,
      onInfo: () => {},
      onError: fail,
      // The server says it as well, to whoever can mend it.
      onWarning: () => {},
      onWaiting: (why) => console.error(`Waiting for the database: ${why}`),
      connectTimeoutMs,
    });
    try {
      await work(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    code = fail(error);
  }
  process.exit(code);
}

function fail(error: unknown): 1 {
  const isExpected =
    error instanceof ConfigError || error instanceof ProblemError || error instanceof UsageError;
  const text = error instanceof ProblemError ? error.options.detail : (error as Error).message;
  console.error(isExpected ? text : `The command failed: ${text}`);
  return 1;
}

/** What was typed can't be done; the message says what to type. */
export class UsageError extends Error {}
