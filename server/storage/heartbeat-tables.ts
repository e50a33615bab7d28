import type { Generated } from "kysely";
import type { PingKind } from "../schemas/heartbeat.ts";

/** The tables of heartbeats. */
export type HeartbeatTables = {
  heartbeats: {
    id: string;
    projectId: number;
    name: string;
    slug: string;
    channel: string;
    /** JSON. */
    schedule: string;
    graceMinutes: number;
    /** Null is unlimited. */
    maxMinutes: number | null;
    enabled: number;
    /** SHA-256 of the address's token, in hexadecimal. */
    tokenHash: string;
    /** Sealed; null after the key for secrets was lost. */
    token: string | null;
    /** Null if there is no badge. */
    badgeToken: string | null;
    /** JSON of `HeartbeatState`. */
    state: string;
    /** When it is down without another ping; null as long as nothing is expected. */
    dueAt: number | null;
    createdAt: number;
  };
  heartbeatPings: {
    id: Generated<number>;
    heartbeatId: string;
    kind: PingKind;
    exitStatus: number | null;
    /** How long the run took that it ended; null if its start isn't known. */
    runMs: number | null;
    body: string | null;
    receivedAt: number;
  };
  /** Events that are not recorded yet. */
  heartbeatEvents: {
    id: Generated<number>;
    projectId: number;
    /** JSON, with the event's id. */
    event: string;
  };
};
