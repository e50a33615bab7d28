import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { lastBackup } from "../backup/last-backup.ts";
import { lastVerification } from "../backup/last-verification.ts";
import type { SegmentShipper } from "../backup/segment-shipper.ts";
import { version } from "../config/config.ts";
import type { LiveStreams } from "../events/live.ts";
import { openFiles } from "../process/open-files.ts";
import { programCommit } from "../process/version.ts";
import { freeBytes } from "../storage/disk.ts";
import { type DiskGrowth, daysUntilFullMax } from "../storage/disk-growth.ts";
import type { OlderEngine, OlderServerStatus, OlderStatus, Store } from "../storage/store.ts";
import {
  countAll,
  countFailingDestinations,
  countUncompressed,
  countUnfinishedJobs,
  countUnindexed,
  deliveriesByState,
} from "./database-counts.ts";

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const heldSeconds = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 1];
const batchEvents = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];
/** Database counts are reused for this long, so that frequent scrapes cost nothing. */
const reuseMs = 5_000;
const daySeconds = 86_400;

type Deps = {
  store: Store;
  streams: LiveStreams;
  damage: { isFound: boolean };
  shipper: SegmentShipper | null;
  /** Null if the database is another server's. */
  diskGrowth: DiskGrowth | null;
};

/** A request's method, route and response, for its measurements and the log. */
export type Observed = { method: string; route: string; status: number; seconds: number };

/**
 * The metrics of a node, in Prometheus's text format (https://prometheus.io/docs/instrumenting/exposition_formats/).
 * docs/monitoring.md explains each.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram;
  readonly #commits: Histogram;
  readonly #syncs: Histogram;
  readonly #batches: Histogram;
  readonly #held: Histogram;
  readonly #rejected: Counter;
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });

  constructor({ store, streams, damage, shipper, diskGrowth }: Deps) {
    const registers = [this.#registry];
    this.#requests = new Histogram({
      name: "tidings_request_duration_seconds",
      help: "Time from the whole request to its response, by method, route and class of status",
      labelNames: ["method", "route", "status"],
      buckets: requestSeconds,
      registers,
    });
    this.#commits = new Histogram({
      name: "tidings_commit_duration_seconds",
      help: "Time of a commit of events, with its fsync",
      buckets: commitSeconds,
      registers,
    });
    this.#syncs = new Histogram({
      name: "tidings_fsync_duration_seconds",
      help: "Part of a commit that writes the log and waits for its fsync, if the database tells",
      buckets: commitSeconds,
      registers,
    });
    this.#batches = new Histogram({
      name: "tidings_commit_events",
      help: "Events in a commit",
      buckets: batchEvents,
      registers,
    });
    this.#held = new Histogram({
      name: "tidings_writer_held_seconds",
      help: "Time for which the database's writer was held, with the fsync, by the kind of work, if it has only one",
      labelNames: ["work"],
      buckets: heldSeconds,
      registers,
    });
    store.observeWriter((work, ms) => this.#held.observe({ work }, ms / 1_000));
    this.#rejected = new Counter({
      name: "tidings_rejected_requests_total",
      help: "Requests to record events that were rejected, by status",
      labelNames: ["status"],
      registers,
    });
    this.#gauge("tidings_queued_events", "Events that wait for a commit", () => store.events.waiting);
    this.#gauge("tidings_streams", "Open live streams", () => streams.count);
    new Gauge({
      name: "tidings_build_info",
      help: "Always 1; the labels are the version and the commit, empty if that is unknown",
      labelNames: ["version", "commit"],
      registers,
    }).set({ version, commit: programCommit() ?? "" }, 1);
    this.#processGauges();
    this.#databaseGauges(store);
    this.#databaseGauge("tidings_database_bytes", "Size of the database, with its log", () => store.bytes());
    if (store.older) this.#olderMetrics(store.older);
    const { dataDirectory } = store;
    // A database server has its own tools for backups, too.
    if (dataDirectory !== null) {
      this.#backupGauges(store, shipper);
      this.#gauge("tidings_database_damaged", "1 if damage was found since the start, otherwise 0", () =>
        damage.isFound ? 1 : 0,
      );
      this.#databaseGauge(
        "tidings_uncompressed_events",
        "Events in blocks of the index whose content is not compressed yet",
        () => countUncompressed(store.control),
      );
      this.#gauge("tidings_disk_free_bytes", "Free space on the data directory's disk", () =>
        freeBytes(dataDirectory),
      );
    }
    if (diskGrowth)
      this.#databaseGauge(
        "tidings_disk_full_seconds",
        "Time until that disk is full, at the rate of the last two weeks; a century in the first day or if it does not fill",
        async () => ((await diskGrowth.daysUntilFull()) ?? daysUntilFullMax) * daySeconds,
      );
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  observeRequest({ method, route, status, seconds }: Observed): void {
    this.#requests.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, seconds);
    if (method === "POST" && route === "/api/events" && status >= 400) this.#rejected.inc({ status });
  }

  observeCommit(events: number, ms: number, syncMs: number | null): void {
    this.#commits.observe(ms / 1_000);
    if (syncMs !== null) this.#syncs.observe(syncMs / 1_000);
    this.#batches.observe(events);
  }

  #processGauges(): void {
    this.#gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
    new Counter({
      name: "process_cpu_seconds_total",
      help: "Processor time, user and system",
      registers: [this.#registry],
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    });
    const files = openFiles();
    if (files) {
      this.#gauge("process_open_fds", "Open files and connections", () => openFiles()?.open ?? 0);
      this.#gauge("process_max_fds", "Files and connections that the system allows", () => files.max);
    }
    this.#gauge("process_start_time_seconds", "Start of the process, in seconds since 1970", () =>
      Math.round(Date.now() / 1_000 - process.uptime()),
    );
    this.#delay.enable();
    this.#gauge(
      "tidings_event_loop_delay_seconds",
      "Longest delay of the event loop since the last scrape",
      () => {
        const seconds = this.#delay.max / 1e9;
        this.#delay.reset();
        return seconds;
      },
    );
  }

  #databaseGauges({ control, older }: Store): void {
    this.#databaseGauge(
      "tidings_deliveries",
      "Deliveries that are kept, by state",
      async (gauge) => {
        const counts = await deliveriesByState(control);
        gauge.reset();
        for (const { state, count } of counts) gauge.set({ state }, count);
        return undefined;
      },
      ["state"],
    );
    this.#databaseGauge("tidings_outbox_events", "Events whose deliveries are still to be made", () =>
      countAll(control, "outbox"),
    );
    // If another engine has older events, there are no blocks.
    if (!older)
      this.#databaseGauge("tidings_unindexed_events", "Events that are in no block of the index yet", () =>
        countUnindexed(control),
      );
    this.#databaseGauge("tidings_rejected_events", "Rejected events that are kept", () =>
      countAll(control, "rejectedEvents"),
    );
    this.#databaseGauge("tidings_unfinished_jobs", "Jobs that wait or run", () =>
      countUnfinishedJobs(control),
    );
    this.#databaseGauge(
      "tidings_failing_destinations",
      "Destinations of projects whose last delivery failed",
      () => countFailingDestinations(control),
    );
  }

  /** Metrics of the engine that has older events, named after it. */
  #olderMetrics({ engine, status: read }: OlderEngine): void {
    const prefix = `tidings_${engine.toLowerCase()}`;
    let status: Promise<OlderStatus> | null = null;
    let readAtMs = 0;
    /** All metrics of a scrape are of one reading. */
    const shared = () => {
      if (status && performance.now() - readAtMs < reuseMs) return status;
      readAtMs = performance.now();
      status = read();
      return status;
    };
    const gauge = (name: string, help: string, of: (status: OlderStatus) => number | undefined) =>
      this.#databaseGauge(`${prefix}_${name}`, help, async () => of(await shared()));
    gauge("up", `1 if ${engine} answers, otherwise 0`, ({ failure }) => (failure === null ? 1 : 0));
    gauge(
      "behind_events",
      `Events that are not in ${engine} yet, counted up to a million`,
      ({ waiting }) => waiting.events,
    );
    gauge(
      "behind_seconds",
      "Time since the first of these events arrived; 0 if there are none",
      ({ waiting }) => waiting.seconds,
    );
    gauge(
      "moved_events",
      `Events that were moved to ${engine}, removed ones included`,
      ({ events }) => events,
    );
    gauge("blocks", `Blocks of events that were moved to ${engine}`, ({ blocks }) => blocks);
    gauge("bytes", `Size of the events in ${engine}`, ({ bytes }) => bytes ?? undefined);
    const perServer = (name: string, help: string, of: (server: OlderServerStatus) => number) =>
      this.#databaseGauge(
        `${prefix}_server_${name}`,
        help,
        async (gauge) => {
          for (const server of (await shared()).servers) gauge.set({ server: server.address }, of(server));
          return undefined;
        },
        ["server"],
      );
    perServer("up", "1 if the server answers, otherwise 0", ({ failure }) => (failure === null ? 1 : 0));
    perServer(
      "current",
      "1 if it has all that was moved, so that it is read, otherwise 0",
      ({ isCurrent }) => (isCurrent ? 1 : 0),
    );
    perServer(
      "lacking_events",
      "Events that were moved and are not on the server yet",
      ({ lacks }) => lacks.events,
    );
    perServer(
      "owed_removals",
      "Events that were removed and are still on the server",
      ({ lacks }) => lacks.removals,
    );
    new Counter({
      name: `${prefix}_failed_attempts_total`,
      help: `Failed attempts of this node to move events to ${engine}`,
      registers: [this.#registry],
      async collect() {
        const known = await shared().catch(() => null);
        if (!known) return;
        this.reset();
        this.inc(known.shipping.failedAttempts);
      },
    });
  }

  #backupGauges({ control }: Store, shipper: SegmentShipper | null): void {
    this.#databaseGauge(
      "tidings_last_backup_timestamp_seconds",
      "When the last backup began; 0 if there was none",
      async () => {
        const last = await lastBackup(control);
        return last ? Date.parse(last.at) / 1_000 : 0;
      },
    );
    this.#databaseGauge(
      "tidings_backup_verified_timestamp_seconds",
      "When the newest backup was last restored to check it; 0 if it never was",
      async () => {
        const last = await lastVerification(control);
        return last ? Date.parse(last.at) / 1_000 : 0;
      },
    );
    this.#databaseGauge(
      "tidings_backup_verification_failed",
      "1 if the newest backup could not be restored when it was last checked, otherwise 0",
      async () => ((await lastVerification(control))?.ok === false ? 1 : 0),
    );
    this.#databaseGauge(
      "tidings_backup_behind_seconds",
      "Age of the oldest change that can't be restored from the continuous backup yet; 0 if all can, or without one",
      async () => shipper?.behindSeconds((await lastBackup(control))?.generation) ?? 0,
    );
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** A gauge from the database. If the database can't be read, it keeps its last value. */
  #databaseGauge(
    name: string,
    help: string,
    read: (gauge: Gauge) => Promise<number | undefined>,
    labelNames: string[] = [],
  ): void {
    let readAtMs = Number.NEGATIVE_INFINITY;
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      async collect() {
        if (performance.now() - readAtMs < reuseMs) return;
        readAtMs = performance.now();
        const value = await read(this).catch(() => undefined);
        if (value !== undefined) this.set(value);
      },
    });
  }
}
