import pg from "pg";
import { problem } from "../../core/problems.ts";
import { NoDatabase } from "../store.ts";

/**
 * SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html) of failures that pass by themselves or
 * once the database is fixed: lost connections, a server that starts or stops, a standby, exhausted resources,
 * deadlocks, locks and time-outs.
 */
const unavailable = /^(?:08|28|3D000|53|55P03|57|58|25006|40001|40P01)/;
/** After these the connection is useless. A new one can lead to the server that has taken over. */
const lost = /^(?:08|57P|58|25006)/;
const diskFull = "53100";
const readOnly = "25006";
/** Waiting does not help against these: the settings must be fixed first. */
const refused = /^(?:28|3D000)/;

/** The database answers, but this program can't use it. */
export class UnfitDatabase extends Error {}

/** The error to throw for PostgreSQL's failure. An error that is not the storage's is returned unchanged. */
export function storageProblem(error: unknown): unknown {
  if (!isCircumstance(error)) return error;
  const { code, message } = error as { code?: string; message: string };
  const log = { code, message };
  if (code === diskFull) {
    return problem("storage-full", {
      detail: "The database's disk is full, so nothing was stored. Try again later.",
      retryAfterSeconds: 30,
      log,
    });
  }
  return problem("storage-unavailable", {
    detail:
      code === readOnly
        ? "The database is read-only or a standby, so nothing was stored. Try again later."
        : "The database does not respond. Try again later.",
    retryAfterSeconds: 5,
    log,
  });
}

/** The error of a connection that leads to a standby: the one that it answers to writes. */
export function standbyError(): Error {
  return Object.assign(new pg.DatabaseError("the server is a standby", 0, "error"), { code: readOnly });
}

/** Whether a connection with this failure must be closed. */
export function isLost(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? lost.test(error.code ?? "") : isOfConnection(error);
}

/** Whether a start should wait and try again. */
export function isPassing(error: unknown): boolean {
  if (!isCircumstance(error)) return false;
  return !(error instanceof pg.DatabaseError) || !refused.test(error.code ?? "");
}

function isCircumstance(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? unavailable.test(error.code ?? "") : isOfConnection(error);
}

/** An error that is not the server's comes from the connection, unless it is a bug. */
function isOfConnection(error: unknown): boolean {
  return (
    error instanceof Error &&
    ![TypeError, RangeError, ReferenceError, NoDatabase, UnfitDatabase].some((kind) => error instanceof kind)
  );
}
