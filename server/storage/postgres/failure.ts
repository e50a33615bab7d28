import pg from "pg";
import { problem } from "../../problems.ts";

/**
 * SQLSTATEs (https://www.postgresql.org/docs/current/errcodes-appendix.html) of what passes by itself, or when somebody mends the
 * database: lost connections, a server that starts or ends, a standby, nothing left to give, deadlocks, locks and time-outs.
 */
const unavailable = /^(?:08|28|3D000|53|55P03|57|58|25006|40001|40P01)/;
/** After these the connection is of no use: another one may lead to the server that has taken over. */
const lost = /^(?:08|57P|58|25006)/;
const diskFull = "53100";
const readOnly = "25006";
/** Nobody needs to wait for these to pass: the settings are to be mended first. */
const refused = /^(?:28|3D000)/;

/** The database answers, and is not one that this program can work on. */
export class UnfitDatabase extends Error {}

/** PostgreSQL's failure as the caller is told of it; what no circumstance explains is given back as it is. */
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

/** Whether a connection that met this failure is to be closed rather than used again. */
export function isLost(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? lost.test(error.code ?? "") : isOfConnection(error);
}

/** Whether a start can wait until this has passed. */
export function isPassing(error: unknown): boolean {
  if (!isCircumstance(error)) return false;
  return !(error instanceof pg.DatabaseError) || !refused.test(error.code ?? "");
}

function isCircumstance(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? unavailable.test(error.code ?? "") : isOfConnection(error);
}

/** What the server did not say itself comes from the way to it, unless the program is at fault. */
function isOfConnection(error: unknown): boolean {
  return (
    error instanceof Error &&
    ![TypeError, RangeError, ReferenceError, UnfitDatabase].some((kind) => error instanceof kind)
  );
}
