import type { Logger } from "pino";
import { ProblemError, problem } from "./problems.ts";

/** The answer to whatever a route threw: its problem, or `internal` for what nobody foresaw, which is logged. */
export function answerError(error: unknown, log: Logger): Response {
  if (error instanceof ProblemError) {
    if (error.options.log !== undefined)
      log.error({ problem: error.code, cause: error.options.log }, error.options.detail);
    return error.toResponse();
  }
  log.error({ err: error }, "a request failed");
  return problem("internal", {
    detail: "The server failed at this request. Its log has the cause.",
  }).toResponse();
}
