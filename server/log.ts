import { type Logger, pino } from "pino";
import { ProblemError } from "./problems.ts";

/** Logs JSON lines to standard output. */
export function createLog(level: string): Logger {
  return pino({ level, serializers: { err: errorFields } });
}

/** Picks the fields to log. Errors can carry much more, such as a whole database connection. */
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
