import { APIError } from "better-auth";
import type { ProblemError } from "../core/problems.ts";
import { currentCall } from "./auth-call.ts";

/**
 * The error to throw for a problem within a call of better-auth: `callAuth` throws the problem instead. better-auth
 * prints any error but its own, with its stack, which a flood of sign-ins must not cause.
 */
export function callRejection(problem: ProblemError): Error {
  const call = currentCall();
  if (!call) return problem;
  call.problem = problem;
  return new APIError("SERVICE_UNAVAILABLE");
}
