import type { FailureLog } from "../failure-log.ts";
import { ProblemError, problem } from "../problems.ts";

export const internalDetail = "The server failed to handle this request. See its log.";

/** The response to anything that a route threw: its problem, or `internal` for unexpected errors, which are logged. */
export function errorResponse(error: unknown, failures: Pick<FailureLog, "requestFailed">): Response {
  // The client disconnected or was too slow. Nobody reads this response, and nothing is wrong here.
  if (error instanceof DOMException && error.name === "AbortError") {
    return problem("body-malformed", {
      detail: "The connection closed before the whole body arrived.",
    }).toResponse();
  }
  failures.requestFailed(error);
  if (error instanceof ProblemError) return error.toResponse();
  return problem("internal", {
    detail: internalDetail,
  }).toResponse();
}
