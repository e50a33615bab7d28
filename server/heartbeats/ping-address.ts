import { problem } from "../core/problems.ts";
import type { Ping } from "./heartbeat-state.ts";

/** What the end of a ping's address says. */
export type Signal = Pick<Ping, "kind"> & { exitStatus: number | null };

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reads the end of an address; undefined is a success. Throws `heartbeat-unknown`. */
export function signalOf(end: string | undefined): Signal {
  if (end === undefined) return { kind: "success", exitStatus: null };
  if (end === "start" || end === "fail" || end === "log") return { kind: end, exitStatus: null };
  if (/^\d{1,3}$/.test(end) && Number(end) <= 255) {
    const exitStatus = Number(end);
    return { kind: exitStatus === 0 ? "success" : "fail", exitStatus };
  }
  throw problem("heartbeat-unknown", {
    detail:
      "The end of this address is unknown. End it with nothing for a success, /start, /fail, /log, or an exit status from 0 to 255.",
  });
}

/** The `rid` of a ping's address; null if it has none. Throws `query-invalid`. */
export function ridOf(searchParams: URLSearchParams): string | null {
  const rid = searchParams.get("rid");
  if (rid === null) return null;
  if (uuid.test(rid)) return rid.toLowerCase();
  throw problem("query-invalid", {
    detail: 'rid must be a UUID, as "uuidgen" prints it: the same for the start and the end of a run.',
  });
}
