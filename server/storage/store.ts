import type { Kysely, RawBuilder, Selectable, Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";
import type { EventStore } from "./event-store.ts";
import type { MigrationProgress } from "./migrations.ts";
import type { RateLimiter, RateLimiterOptions } from "./rate-limiter.ts";
import type { SegmentSource } from "./segment-source.ts";

/** The number of deliveries to claim for a destination. */
export type DeliveryShare = { destinationId: string; count: number };

/**
 * Claims due deliveries for one process until `untilMs`, the longest due first. After that they are due again.
 * `attempts` counts each claim.
 *
 * Invariant: one process at a time has claimed a delivery, and another claims it when that one dies. Checked by
 * `server/notifications/delivery-worker.test.ts` and `server/notifications/nodes.test.ts`.
 */
export type ClaimDeliveries = (
  nowMs: number,
  untilMs: number,
  shares: readonly DeliveryShare[],
) => Promise<Selectable<ControlTables["deliveries"]>[]>;

/** Kinds of work that hold SQLite's writer. docs/monitoring.md explains each. */
export type WriterWork =
  | "events"
  | "counters"
  | "control"
  | "transaction"
  | "user-activity"
  | "fan-out"
  | "deliveries"
  | "removal"
  | "purge"
  | "shrink"
  | "blocks"
  | "checkpoint";

/** Called after the writer was held, with the milliseconds, including the fsync. */
export type OnHeld = (work: WriterWork, ms: number) => void;

/**
 * Runs a transaction that the program makes by itself, such as the deliveries of events, without holding up events. On
 * SQLite its statements go to the writer when `run` has returned:
 *
 * - A `SELECT` runs at once and doesn't see what the transaction writes. If it would give other rows by the time of the
 *   commit, nothing is written and `run` is called again, so it must have no other effects.
 * - What is written gives no result, so there is no `RETURNING`, and no number of rows.
 *
 * On PostgreSQL it is an ordinary transaction.
 *
 * Invariant: on SQLite, a transaction that the program makes by itself goes to the writer as one message. Checked by
 * `server/storage/store.test.ts`.
 */
export type Together = <Result>(
  work: WriterWork,
  run: (transaction: Transaction<ControlTables>) => Promise<Result>,
) => Promise<Result>;

/**
 * The values of rows as a query for `INSERT … SELECT`, with a single parameter: the statement's text is the same for any
 * number of rows.
 */
export type RowsOf = <Table extends keyof ControlTables & string>(
  table: Table,
  columns: readonly (keyof ControlTables[Table] & string)[],
  rows: readonly object[],
) => RawBuilder<never>;

/** Takes entries out of the outbox, in a transaction of `Together`. Returns those that are still there. */
export type TakeOutbox = (
  transaction: Transaction<ControlTables>,
  ids: readonly number[],
) => Promise<Selectable<ControlTables["outbox"]>[]>;

/** Events that another engine keeps, once they are older. */
export type OlderEngine = {
  /** Its name, as people know it. */
  engine: string;
  status: () => Promise<OlderStatus>;
};

export type OlderStatus = {
  /** Why older events can't be read; null if they can. */
  failure: string | null;
  /** Blocks and events that were moved, removed events included. */
  blocks: number;
  events: number;
  /** Their size on disk; null if that can't be read now. */
  bytes: number | null;
  /** The servers of that engine. */
  servers: OlderServerStatus[];
  /** Events that are not moved yet, counted up to a million, and for how long the first of them has waited. */
  waiting: { events: number; seconds: number };
  /** Moving events on this node: why it failed at last, null if it didn't, and how often since the start. */
  shipping: { failure: string | null; failedAttempts: number };
};

/** A server of the engine that has older events. */
export type OlderServerStatus = {
  /** Host, port and database. */
  address: string;
  /** Why it can't be read or written; null if it can. */
  failure: string | null;
  /** Whether it has all that was moved, so that reads may ask it. */
  isCurrent: boolean;
  /** Blocks that were moved and are not there yet, their events, and events that were removed and are still there. */
  lacks: { blocks: number; events: number; removals: number };
  /** The size of its events on disk; null if that can't be read now. */
  bytes: number | null;
};

/** Events, and the control tables with everything else. */
export interface Store {
  events: EventStore;
  control: Kysely<ControlTables>;
  together: Together;
  rowsOf: RowsOf;
  /** Observes SQLite's writer thread. PostgreSQL has none. */
  observeWriter(observer: OnHeld): void;
  /** For how long background work has held SQLite's writer so far, in milliseconds. PostgreSQL has none: null. */
  backgroundHeldMs(): number | null;
  takeOutbox: TakeOutbox;
  claimDeliveries: ClaimDeliveries;
  rateLimiter(options: RateLimiterOptions): RateLimiter;
  /** The directory with the database's files; null if a database server has them, whose disk can't be seen from here. */
  dataDirectory: string | null;
  /** The changes for continuous backups; null if they are not captured. A database server has archiving of its own. */
  segments: SegmentSource | null;
  /** The size of the database. */
  bytes(): Promise<number>;
  /** Tells of older events in another engine; null if there is none. */
  older: OlderEngine | null;
  /** Stores all accepted events, then closes. */
  close(): Promise<void>;
}

/** Receives a store's problems, and limits how long it may take to open. */
export type StoreWatch = {
  /** The storage has failed: the process must end and acknowledge nothing more. */
  onFatal: (error: Error) => void;
  /** The database is damaged; reported once. Readable data is still served. */
  onDamage: (error: Error) => void;
  /** Something failed in the background, such as an idle connection. */
  onError: (error: unknown) => void;
  /** The storage is less safe or complete than it should be; the text says how. */
  onWarning: (text: string) => void;
  /** The storage is not available yet, for this reason; opening waits. */
  onWaiting: (why: string) => void;
  /** A slow step of opening, such as a migration, begins or ends. */
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  /** A migration is in progress: called at each step and about twice a second. Null when it has ended. */
  onMigrating: (progress: MigrationProgress | null) => void;
  /** The time that opening waits for the storage. */
  connectTimeoutMs: number;
  /** Whether opening creates a database where there is none; otherwise it throws `NoDatabase`. */
  mayCreate: boolean;
  /**
   * Whether opening upgrades a database of an older version; otherwise it fails.
   *
   * Invariant: only a server upgrades a database. A command may run beside an older server, so it refuses. Checked by
   * `server/storage/upgrade.test.ts`.
   */
  mayUpgrade: boolean;
  /**
   * The kind of process that records events here. On SQLite it has the data directory for itself: opening waits for a
   * command and fails if a server has the directory. Absent for a command that may run beside a server.
   */
  recordsAs?: "server" | "command";
  /** Where changes of the database are backed up continuously. Absent if they are not. */
  segmentsTo?: string;
  /**
   * Called before an upgrade with the database's sealed check of its secret key, or null. If it throws, the database
   * stays as it is.
   */
  beforeUpgrade?: (secretKeyCheck: string | null) => void;
};

/** The database doesn't exist. The message says what to do. */
export class NoDatabase extends Error {}
