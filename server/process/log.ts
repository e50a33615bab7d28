import { type Logger, pino } from "pino";
import type { LogFormat } from "../config/values.ts";
import { ProblemError } from "../core/problems.ts";

/** Logs to standard output: JSON lines, or lines for people. */
export async function createLog(level: string, format: LogFormat = "json"): Promise<Logger> {
  const options = { level, serializers: { err: errorFields } };
  if (format === "json") return pino(options);
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ sync: true, ignore: "pid,hostname" }));
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
