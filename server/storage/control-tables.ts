import type { Generated } from "kysely";
import type { Job } from "../wire/job.ts";
import type { DestinationKind, deliveryStates } from "../wire/notification.ts";

/** The control tables as Kysely sees them: columns in camel case, times in milliseconds since 1970. */
export type ControlTables = {
  settings: { name: string; value: string };
  accounts: {
    id: string;
    name: string;
    email: string;
    emailVerified: number;
    image: string | null;
    /** ISO 8601, as better-auth writes it; the same in the two tables below. */
    createdAt: string;
    updatedAt: string;
  };
  credentials: {
    id: string;
    accountId: string;
    providerId: string;
    userId: string;
    password: string | null;
    createdAt: string;
    updatedAt: string;
  };
  sessions: {
    id: string;
    userId: string;
    token: string;
    expiresAt: string;
    createdAt: string;
    updatedAt: string;
  };
  projects: {
    id: Generated<number>;
    slug: string;
    name: string;
    knownChannelsOnly: Generated<number>;
    /** Null keeps events forever. */
    retentionDays: number | null;
    /** Its events are being removed, and it is no longer visible. */
    deletedAt: number | null;
    createdAt: number;
  };
  members: { projectId: number; accountId: string; role: "owner" | "member"; createdAt: number };
  channels: {
    projectId: number;
    name: string;
    icon: string | null;
    description: string | null;
    /** Null uses the project's. */
    retentionDays: number | null;
    archivedAt: number | null;
    events: Generated<number>;
    lastEventAt: number | null;
    createdAt: number;
  };
  keys: {
    id: string;
    projectId: number;
    name: string;
    kind: "secret";
    /** SHA-256 of the key, in hexadecimal. */
    hash: string;
    ending: string;
    createdAt: number;
    lastUsedAt: number | null;
    revokedAt: number | null;
  };
  rejectedEvents: {
    id: Generated<number>;
    projectId: number;
    keyId: string | null;
    body: string;
    /** 1 if the body was longer and was truncated. */
    cut: number;
    /** The problem in the sender's response, as JSON. */
    problem: string;
    rejectedAt: number;
  };
  idempotencyKeys: {
    projectId: number;
    key: string;
    bodyHash: string;
    /** The response before the events were stored, as JSON: an event, or the results of a batch. */
    draft: string;
    /** The `AppendResult` of each event, as JSON. */
    verdicts: string;
    createdAt: number;
  };
  users: { projectId: number; userId: string; properties: string; updatedAt: number };
  jobs: {
    id: string;
    projectId: number;
    /** Who started it; null for an API key. */
    accountId: string | null;
    kind: Job["kind"];
    state: Job["state"];
    detail: string;
    done: Generated<number>;
    total: number | null;
    createdAt: number;
    endedAt: number | null;
  };
  /** Work that one process does at a time, and how long it may keep it. */
  leases: { name: string; holder: string; until: number };
  destinations: {
    id: string;
    accountId: string;
    kind: DestinationKind;
    label: string;
    address: string;
    secret: string | null;
    enabled: number;
    createdAt: number;
  };
  deliveries: {
    id: Generated<number>;
    projectId: number;
    eventId: string;
    accountId: string;
    destinationId: string | null;
    kind: DestinationKind;
    label: string;
    state: (typeof deliveryStates)[number];
    attempts: Generated<number>;
    detail: string | null;
    createdAt: number;
    nextAttemptAt: number | null;
    deliveredAt: number | null;
    readAt: number | null;
  };
};
