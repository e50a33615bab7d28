import { type Logger, pino } from "pino";
import { ProblemError } from "./problems.ts";

/** The log: a line of JSON for each message, on standard output. */
export function createLog(level: string): Logger {
  return pino({ level, serializers: { err: errorFields } });
}

/** What is logged of an error: not all that hangs on it, such as a database's whole connection. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const cause = error instanceof ProblemError ? error.options.log : error.cause;
  return {
    type: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    stack: error.stack,
    ...(cause !== undefined && { cause: errorFields(cause) }),
  };
}
