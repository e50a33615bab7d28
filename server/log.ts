import { type Logger, pino } from "pino";

/** The log: a line of JSON for each message, on standard output. */
export function createLog(level: string): Logger {
  return pino({ level, serializers: { err: errorFields } });
}

/** What is logged of an error: not all that hangs on it, such as a database's whole connection. */
function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    stack: error.stack,
    ...(cause !== undefined && { cause: errorFields(cause) }),
  };
}
