import type { Logger } from "pino";
import { ProblemError, problem } from "./problems.ts";

/** A batch fails as one, and is told in the log as one. */
const logged = new WeakSet<ProblemError>();

export const internalDetail = "The server failed at this request. Its log has the cause.";

/** The answer to whatever a route threw: its problem, or `internal` for what nobody foresaw, which is logged. */
export function answerError(error: unknown, log: Logger): Response {
  if (error instanceof ProblemError) {
    if (error.options.log !== undefined && !logged.has(error)) {
      logged.add(error);
      log.error({ problem: error.code, cause: error.options.log }, error.options.detail);
    }
    return error.toResponse();
  }
  // The client went away, or took longer than a request may; nobody reads this, and nothing is wrong here.
  if (error instanceof DOMException && error.name === "AbortError") {
    return problem("body-malformed", { detail: "The connection ended before the body did." }).toResponse();
  }
  log.error({ err: error }, "a request failed");
  return problem("internal", {
    detail: internalDetail,
  }).toResponse();
}
