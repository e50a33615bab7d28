import { existsSync, rmSync } from "node:fs";
import { CamelCasePlugin, type Dialect, Kysely } from "kysely";
import type { Cursor } from "../../event/filter.ts";
import type { ArrivalStamp } from "../../event/id.ts";
import { FairQueue } from "../../scheduling/fair-queue.ts";
import { limited } from "../analysis/analyzer.ts";
import type { ControlTables } from "../control-tables.ts";
import type { Counts, EventQuery, Page } from "../event-queries.ts";
import type { ArrivedEvent, EventStore, Follower, Pause } from "../event-store.ts";
import { fairReads } from "../fair-reads.ts";
import { readsOfPeople } from "../reads-of-people.ts";
import { removalStep } from "../removal-step.ts";
import type { Store, StoreWatch } from "../store.ts";
import { blockEventsUsual } from "./build-blocks.ts";
import { Check } from "./check.ts";
import { Damage } from "./damage.ts";
import { createClaimDeliveries } from "./deliveries.ts";
import { createDeferredDialect, createDialect } from "./dialect.ts";
import { databaseBytes, directoryRefusal, markOpen, unmarkOpen, wasUsed } from "./directory.ts";
import { awaitDirectory } from "./directory-lock.ts";
import type { FileLock } from "./file-lock.ts";
import { migrateAside } from "./migrate-aside.ts";
import { OldSnapshots } from "./old-snapshots.ts";
import { databaseFile, openForReading, removeCopies } from "./open.ts";
import { takeOutbox } from "./outbox.ts";
import type { PurgeStep } from "./purge.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import { Reader } from "./reader.ts";
import type { BuildStep, Chunk } from "./reader-thread.ts";
import { createRemoveFound } from "./remove-found.ts";
import { requireAccess } from "./require-access.ts";
import { keepReserve, makeRoom } from "./reserve.ts";
import { removeDeadScratch, scratchIn } from "./scratch.ts";
import { createTogether, rowsOf } from "./together.ts";
import { WalCapture } from "./wal-capture.ts";
import { Writer } from "./writer.ts";

/** The time that an erasure waits for a running backup, such as one over a slow line. */
const copyWaitMs = 3_600_000;
const copyPollMs = 100;
/** Events per chunk of a streamed listing: enough to be fast, few enough that pages don't wait long. */
const chunkEvents = 2_000;
/** Steps of packing some hundred bodies, after which the rest waits: new events get their blocks first. */
const packSteps = 500;

type Opening = Pick<
  StoreWatch,
  | "onFatal"
  | "onDamage"
  | "onInfo"
  | "onMigrating"
  | "mayCreate"
  | "mayUpgrade"
  | "beforeUpgrade"
  | "segmentsTo"
>;

/**
 * Opens the store of a data directory, creates it if it is missing, and migrates it to this program's version.
 *
 * @param blockEvents - events per block
 * @param migrations - directories with the migrations, if they are not the program's own
 */
export async function openSqliteStore(
  dataDirectory: string,
  {
    onFatal,
    onDamage,
    onInfo,
    onMigrating,
    onWaiting,
    recordsAs,
    ...may
  }: Opening & Pick<StoreWatch, "onWaiting" | "recordsAs">,
  blockEvents = blockEventsUsual,
  migrations?: readonly string[],
): Promise<Store> {
  requireAccess(dataDirectory);
  const lock =
    recordsAs && (may.mayCreate || wasUsed(dataDirectory)) && directoryRefusal(dataDirectory) === null
      ? await awaitDirectory(dataDirectory, recordsAs, onWaiting)
      : null;
  try {
    return await openLocked(
      dataDirectory,
      { onFatal, onDamage, onInfo, onMigrating, ...may },
      lock,
      blockEvents,
      migrations,
    );
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** @param lock - the directory's, which closing the store releases; null if the directory is shared */
async function openLocked(
  dataDirectory: string,
  { onFatal, onDamage, onInfo, onMigrating, ...may }: Opening,
  lock: FileLock | null,
  blockEvents: number,
  migrations: readonly string[] | undefined,
): Promise<Store> {
  // Only the server does this: commands may run beside one.
  if (may.mayUpgrade && lock !== null && existsSync(databaseFile(dataDirectory))) makeRoom(dataDirectory);
  const isNew = !wasUsed(dataDirectory);
  const migrateNow = () => migrateAside(dataDirectory, { onInfo, onMigrating, ...may }, migrations);
  if (isNew) await migrateNow();
  const capture = await WalCapture.start(dataDirectory, may, onFatal);
  try {
    if (!isNew) await migrateNow();
  } catch (error) {
    await capture?.close();
    throw error;
  }
  const damage = new Damage(databaseFile(dataDirectory), onDamage);
  let follower: Follower | null = null;
  const writer = await Writer.start(
    dataDirectory,
    (event) => follower?.arrived(event, event.notifies),
    damage.errorOf,
    onFatal,
  );
  if (capture) {
    capture.withoutCommits = (work) => writer.withoutCommits("checkpoint", work);
    writer.onDiskFull = () => void capture.interrupt("the disk was full");
  }
  markOpen(dataDirectory, lock !== null);
  if (may.mayUpgrade) keepReserve(dataDirectory);
  const reader = await Reader.start(dataDirectory, blockEvents, damage.errorOf, onFatal);
  const reading = openForReading(databaseFile(dataDirectory));
  const dialectDeps = { writer, reading, errorOf: damage.errorOf };
  const open = (dialect: Dialect) => new Kysely<ControlTables>({ dialect, plugins: [new CamelCasePlugin()] });
  const control = open(createDialect(dialectDeps));

  // Only one further turn of all long searches and listings waits for the reader at a time, and projects take turns. So a
  // new page waits for one turn at most.
  const laterTurns = new FairQueue<number>({ capacity: 1 });
  const readChunk = (query: EventQuery) =>
    laterTurns.run(query.projectId, () =>
      reader.request<Chunk>({ kind: "chunk", query, limit: chunkEvents }),
    );
  const check = new Check(dataDirectory, damage, onInfo);
  // Only the server's: a command may run beside one of an older version.
  const oldSnapshots = may.mayUpgrade ? new OldSnapshots(dataDirectory, damage, onInfo) : null;

  async function* stream(query: EventQuery): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let after: Cursor | null | undefined = query.after;
    while (after !== null) {
      const chunk: Chunk = await readChunk({ ...query, ...(after && { after }) });
      yield chunk.bytes;
      after = chunk.next;
    }
  }

  async function page(query: EventQuery, limit: number, signal?: AbortSignal): Promise<Page> {
    signal?.throwIfAborted();
    const readTurn = (query: EventQuery, limit: number) =>
      reader.request<Page>({ kind: "page", query, limit });
    let page = await readTurn(query, limit);
    const events = page.events;
    while (page.next !== null && events.length < limit) {
      const after = page.next;
      page = await laterTurns.run(
        query.projectId,
        () => readTurn({ ...query, after }, limit - events.length),
        { signal },
      );
      for (const event of page.events) events.push(event);
    }
    return { events, next: page.next };
  }

  const reads: Parameters<typeof fairReads>[0] = {
    page,
    stream,
    startingWith: (projectId, texts, prefix, limit) =>
      reader.request<string[]>({ kind: "startingWith", projectId, texts, prefix, limit }),
    async count(query, signal) {
      await writer.flushCounters();
      return reader.cancellable<Counts | null>({ kind: "count", query }, { ...(signal && { signal }) });
    },
    countNewer: (query) => reader.cancellable<number[]>({ kind: "countNewer", query }, {}),
    lateEvents: (query) => reader.request<string[][]>({ kind: "lateEvents", query }),
    arrivedLater: (query) => reader.request<boolean[]>({ kind: "arrivedLater", query }),
    users: (query, limit, signal) =>
      reader.cancellable({ kind: "users", query, limit }, { ...(signal && { signal }) }),
    usersMatching: (query, limit, signal) =>
      reader.cancellable({ kind: "usersMatching", query, limit }, { ...(signal && { signal }) }),
    ...limited({
      measure: (query, watch) => reader.cancellable({ kind: "measure", query }, watch),
      funnel: (query, watch) => reader.cancellable({ kind: "funnel", query }, watch),
      retention: (query, watch) => reader.cancellable({ kind: "retention", query }, watch),
      paths: (query, watch) => reader.cancellable({ kind: "paths", query }, watch),
      activity: (query, watch) => reader.cancellable({ kind: "activity", query }, watch),
      countedUsers: (query, watch) => reader.cancellable({ kind: "countedUsers", query }, watch),
      sessions: (query, watch) => reader.cancellable({ kind: "sessions", query }, watch),
      usersWith: (query, watch) => reader.cancellable({ kind: "usersWith", query }, watch),
    }),
  };

  async function buildBlocks(pause: Pause, nowMs: number): Promise<void> {
    for (let isNew = true; ; isNew = false) {
      const next: BuildStep = await reader.request({ kind: "nextBuildStep", isNew, nowMs });
      if (!next) return;
      if (next.step) while (await writer.buildBlock(next.step)) await pause();
      await pause();
    }
  }

  async function packBodies(pause: Pause): Promise<void> {
    for (let step = 0; step < packSteps; step++) {
      if (!(await writer.packBodies(blockEvents / 2))) return;
      await pause();
    }
  }

  async function runPurgeStep(step: PurgeStep, pause: Pause): Promise<void> {
    const isMore =
      capture && step === "truncateLog"
        ? () => writer.emptyLog(() => capture.restartLog())
        : () => writer.purge(step);
    while (await isMore()) await pause();
  }

  async function zeroUnallocated(pause: Pause): Promise<void> {
    let page: number | null = 1;
    while (page !== null) {
      page = await writer.zeroUnallocated(page, async () => capture?.restartLog());
      await pause();
    }
  }

  const events: EventStore = {
    get waiting() {
      return writer.batches.waiting;
    },
    observeCommits(observer) {
      writer.batches.onCommit = observer;
    },
    append: (event) => writer.batches.append(event),
    ...fairReads(readsOfPeople(reads, control)),
    appendAll: (events) => writer.batches.appendAll(events),
    appendWith: (events, companion) => writer.batches.appendWith(events, companion),
    keepRejected: (rejected, retention) => writer.batches.keepRejected(rejected, retention),
    find: (projectId, id) => reader.request<string | null>({ kind: "find", projectId, id }),
    arrivedAfter: (projectId, stamp, limit) =>
      reader.request<ArrivedEvent[]>({ kind: "arrivedAfter", projectId, stamp, limit }),
    flushCounters: () => writer.flushCounters(),
    removeEmptyChannel: (projectId, name) => writer.removeEmptyChannel(projectId, name),
    removalStep,
    countRemovable: (removal) => reader.request<number>({ kind: "countRemovable", removal }),
    remove: createRemoveFound(reader, writer),
    // SQLite has no partitions to drop: expired events are removed one by one.
    removeExpired: async () => 0,
    shrink: (pause) => runPurgeStep("shrink", pause),
    async indexBlocks(pause, nowMs) {
      await writer.flushCounters();
      await buildBlocks(pause, nowMs);
      await packBodies(pause);
      await runPurgeStep("shrinkSparse", pause);
    },
    async purge(pause) {
      await writer.purge("beginMerge");
      const steps = [
        "merge",
        "purgeUnfinished",
        "purgeBodies",
        "purgeColumns",
        "purgeTokens",
        "rewriteOld",
        "shrink",
        "truncateLog",
      ] as const;
      for (const step of steps) await runPurgeStep(step, pause);
      await zeroUnallocated(pause);
      await capture?.shippedAll(pause, copyWaitMs);
      return { copies: await removeAllCopies(dataDirectory, pause) };
    },
    async follow(newFollower) {
      follower = newFollower;
    },
    async announceDeleted(projectId, deleted) {
      follower?.deleted(projectId, deleted);
    },
    async tellAccount(message) {
      follower?.told(message);
    },
    async ping() {
      damage.check();
      await reader.request<void>({ kind: "ping" });
      await writer.execute(
        "INSERT INTO settings (name, value) VALUES ('ping', '') ON CONFLICT (name) DO UPDATE SET value = ''",
        [],
      );
    },
    lastArrival: () => reader.request<ArrivalStamp | null>({ kind: "lastArrival" }),
  };

  return {
    events,
    control,
    together: createTogether(control, (work) => open(createDeferredDialect(dialectDeps, work))),
    rowsOf,
    takeOutbox,
    observeWriter(observer) {
      writer.onHeld = observer;
    },
    backgroundHeldMs: () => writer.backgroundHeldMs,
    claimDeliveries: createClaimDeliveries(open(createDialect(dialectDeps, "deliveries"))),
    rateLimiter: createRateLimiter,
    dataDirectory,
    segments: capture,
    older: null,
    bytes: async () => databaseBytes(dataDirectory),
    async close() {
      check.close();
      oldSnapshots?.close();
      await control.destroy();
      await writer.close();
      await reader.close();
      reading.close();
      await capture?.close();
      unmarkOpen(dataDirectory);
      lock?.release();
    },
  };
}

/**
 * Deletes the copies of the database. A running backup may have an older copy. This waits for it, and deletes its copy,
 * which makes it fail, only after a long time.
 */
async function removeAllCopies(dataDirectory: string, pause: Pause): Promise<number> {
  let copies = removeCopies(dataDirectory);
  const inUse = scratchIn(dataDirectory);
  for (const endMs = performance.now() + copyWaitMs; inUse.some(existsSync); await Bun.sleep(copyPollMs)) {
    if (performance.now() > endMs)
      for (const directory of inUse) rmSync(directory, { recursive: true, force: true });
    await pause();
    copies += removeDeadScratch(dataDirectory);
  }
  return copies;
}
