import { ClickHouseError } from "@clickhouse/client";
import { ProblemError, problem } from "../../core/problems.ts";

/**
 * Codes of ClickHouse's errors (https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp): a
 * table, database or user that doesn't exist, and credentials or rights that don't suffice.
 */
const refusals = new Set(["60", "81", "192", "193", "194", "497", "516"]);
/** Time limits, too many statements at once or too little memory for one, a server that starts, stops or only reads. */
const passing = new Set(["159", "160", "164", "202", "203", "236", "241", "252", "394", "734"]);
/** Writing fails: the disk is full, or nearly. */
const full = new Set(["75", "243"]);

type Kind = "away" | "refused" | "slow" | "full";

const kinds = new WeakMap<ProblemError, Kind>();

const sentences: Record<Kind, string> = {
  away: "Older events are in ClickHouse, which does not respond.",
  refused: "Older events are in ClickHouse, which refuses to answer. The server's log says why.",
  slow: "Older events are in ClickHouse, which takes too long or has too much to do.",
  full: "Older events are in ClickHouse, whose disk is full.",
};

/** The problem of whoever needs older events. */
export function olderProblem(kind: Kind, why: string): ProblemError {
  const error = problem("older-events-unavailable", {
    detail: `${sentences[kind]} New events are recorded and shown. Try again later.`,
    retryAfterSeconds: 5,
    log: why,
  });
  kinds.set(error, kind);
  return error;
}

/** Whether ClickHouse answered, but not to Tidings. */
export function isRefused(error: unknown): error is ProblemError {
  return error instanceof ProblemError && kinds.get(error) === "refused";
}

/** Whether the server can't be asked at all, so that another one might answer. */
export function isUnreachable(error: unknown): error is ProblemError {
  const kind = error instanceof ProblemError ? kinds.get(error) : undefined;
  return kind === "away" || kind === "refused";
}

/** The error to throw for a statement that the server rejected. A mistake in the statement is returned unchanged. */
export function problemOfStatement(error: unknown): unknown {
  if (!(error instanceof ClickHouseError)) return error;
  if (passing.has(error.code)) return olderProblem("slow", reasonOf(error));
  if (full.has(error.code)) return olderProblem("full", reasonOf(error));
  return error;
}

/** Whether the server answers, but not to Tidings: the address or the rights there must be fixed first. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ClickHouseError && refusals.has(error.code);
}

/** An error that is not the server's comes from the connection, unless it is a bug. */
export function isOfConnection(error: unknown): boolean {
  if (error instanceof ClickHouseError || error instanceof ProblemError) return false;
  if (error instanceof TypeError) return /fetch|connect|socket/i.test(error.message);
  return (
    error instanceof Error && ![RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind)
  );
}

/** What the server or the connection says, for the log. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || String(error)).replace(/\.+\s*$/, "");
}

/** Why a task failed, for the log and the status page. */
export function whyOf(error: unknown): string {
  return reasonOf(
    error instanceof ProblemError ? { message: String(error.options.log ?? error.options.detail) } : error,
  );
}
