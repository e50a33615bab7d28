import pg from "pg";
import type { EventStore } from "../store.ts";
import { createAnalyze } from "./analyze.ts";
import { createBlocks } from "./blocks.ts";
import { createBuildBlocks } from "./build-blocks.ts";
import { createCount } from "./count.ts";
import { createDeleteEvents } from "./delete-events.ts";
import { createExpirePartitions } from "./expire-partitions.ts";
import { Feed } from "./feed.ts";
import { createKnownTexts } from "./known-texts.ts";
import { scannedRowsUsual } from "./page.ts";
import { Partitions } from "./partitions.ts";
import { connectionSettings, type DatabaseAddress, openPool } from "./pool.ts";
import { createPurge } from "./purge.ts";
import { createQuery } from "./query.ts";
import { createRead } from "./read.ts";
import { batchesMax, Writer } from "./writer.ts";

/** Longest that a read may take by default. */
const readMs = 10_000;

type Options = {
  /** For reading; what stores events has connections of its own, so that no reading holds it up. */
  pool: pg.Pool;
  address: DatabaseAddress;
  onError: (error: unknown) => void;
  /** Events of a block that is digested. */
  blockEvents: number;
};

/** The events' half of the store, in a database that is up to date. */
export async function createPostgresEvents({
  pool,
  address,
  onError,
  blockEvents,
}: Options): Promise<EventStore & { close: () => Promise<void> }> {
  const node = crypto.randomUUID();
  const writing = openPool({ ...address, connections: batchesMax + 1 }, onError);
  const ask = createQuery(pool, readMs);
  const askWriting = createQuery(writing, readMs);
  const blocks = createBlocks(ask);
  const read = createRead(ask, blocks, Math.min(scannedRowsUsual, blockEvents));
  const texts = createKnownTexts(ask);
  const analyze = createAnalyze(ask);
  const digest = createBuildBlocks(ask, blockEvents);
  const forget = createDeleteEvents(ask, read);
  const months = createExpirePartitions(ask);
  const scrub = createPurge(ask);
  const feed = new Feed({
    ask,
    connect: () => new pg.Client(connectionSettings(address)),
    node,
    durableArrival: read.durableArrival,
    onError,
  });
  const writer = new Writer(
    askWriting,
    node,
    new Partitions(askWriting),
    (commit) => feed.committed(commit),
    onError,
  );

  return {
    append: (event) => writer.append(event),
    appendAll: (events) => writer.appendAll(events),
    appendWith: (events, tie) => writer.appendTied(events, tie),
    keepRejected: (rejected, keeping) => writer.keepRejected(rejected, keeping),
    page: read.page,
    stream: read.stream,
    find: read.find,
    arrivedAfter: read.arrivedAfter,
    follow: (follower) => feed.follow(follower),
    announceDeleted: (projectId, deleted) => feed.announceDeleted(projectId, deleted),
    // Each commit brings them up to date.
    flushCounters: async () => {},
    count: createCount(ask, read, blocks),
    users: texts.users,
    startingWith: texts.startingWith,
    countRemovable: forget.countRemovable,
    remove: forget.remove,
    removeEmptyChannel: forget.removeEmptyChannel,
    removeExpired: months.removeExpired,
    shrink: scrub.shrink,
    async indexBlocks(pause, nowMs) {
      await analyze();
      await digest(pause, nowMs);
    },
    async purge(pause, userIds = []) {
      // What was taken out and is not cleared yet still holds what is to vanish.
      await months.clear(pause);
      await scrub.scrub(pause, userIds.length > 0);
      return { copies: 0 };
    },
    async ping() {
      await askWriting(
        "SELECT (SELECT 1 FROM events LIMIT 1) AS read, setval('waits_for_log', 1) AS written",
      );
    },
    lastArrival: read.lastArrival,
    async close() {
      await writer.close();
      await feed.close();
      await writing.end();
    },
  };
}
