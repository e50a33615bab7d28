import type { Kysely } from "kysely";
import pg from "pg";
import { activity } from "../analysis/activity.ts";
import { limited } from "../analysis/analyzer.ts";
import { countedUsers } from "../analysis/counted-users.ts";
import { funnel } from "../analysis/funnel.ts";
import { measure } from "../analysis/measure.ts";
import { paths } from "../analysis/paths.ts";
import { createReadPeople } from "../analysis/person-hashes.ts";
import { retention } from "../analysis/retention.ts";
import { sessions } from "../analysis/sessions.ts";
import { usersWith } from "../analysis/users-with.ts";
import type { ControlTables } from "../control-tables.ts";
import { createCount } from "../count.ts";
import type { AcceptedEvent, EventStore } from "../event-store.ts";
import { fairReads } from "../fair-reads.ts";
import { batchesMax } from "../group-commit.ts";
import { readsOfPeople } from "../reads-of-people.ts";
import { removalStep } from "../removal-step.ts";
import type { Store, StoreWatch } from "../store.ts";
import { createBlocks, noBlocks } from "./blocks.ts";
import { createBuildBlocks } from "./build-blocks.ts";
import { createCountSource } from "./count.ts";
import { createCountNewer } from "./count-newer.ts";
import { createDeleteEvents } from "./delete-events.ts";
import { createExpirePartitions } from "./expire-partitions.ts";
import { UnfitDatabase } from "./failure.ts";
import { Feed } from "./feed.ts";
import { createKnownTexts } from "./known-texts.ts";
import { createLateEvents } from "./late-events.ts";
import { hasShipped, type OpenOlderEvents } from "./older.ts";
import { scanRowsUsual } from "./page.ts";
import { analyzeTables, Partitions } from "./partitions.ts";
import { peopleSource } from "./people.ts";
import { connectionSettings, type DatabaseAddress, openPool } from "./pool.ts";
import { createPurge } from "./purge.ts";
import { createQuery, type Query } from "./query.ts";
import { createRead } from "./read.ts";
import { createReadGroups } from "./read-groups.ts";
import { createReadProperty } from "./read-property.ts";
import { createScan } from "./scan.ts";
import { createUsersMatching } from "./users-matching.ts";
import { createWriter } from "./writer.ts";

/** Deleting in ClickHouse takes about as long for one event. */
const olderRemovalStep = 20_000;

/** The default time limit of a read. */
const readMs = 10_000;

type Options = {
  control: Kysely<ControlTables>;
  /** For reading. Storing events has its own connections, so that it never waits for reads. */
  pool: pg.Pool;
  address: DatabaseAddress;
  watch: StoreWatch;
  /** Events per block. */
  blockEvents: number;
  /** Opens ClickHouse; null if all events are in PostgreSQL. */
  openOlder: OpenOlderEvents | null;
};

/** Throws `UnfitDatabase` if events were moved to ClickHouse, which is not configured. */
async function requireAllHere(runQuery: Query): Promise<void> {
  if (await hasShipped(runQuery)) {
    throw new UnfitDatabase(
      "Most events of this database were moved to ClickHouse. Set CLICKHOUSE_URL to the address of the database that has them, or move them back with: tidings leave-clickhouse.",
    );
  }
}

/** The events of the store, in a migrated database. */
export async function createPostgresEvents({
  control,
  pool,
  address,
  watch,
  blockEvents,
  openOlder,
}: Options): Promise<EventStore & Pick<Store, "older"> & { close: () => Promise<void> }> {
  const { onError } = watch;
  const node = crypto.randomUUID();
  // With ClickHouse, one more: shipping and ids that are sent again must not wait for reads either.
  const writePool = openPool({ ...address, connections: batchesMax + (openOlder ? 2 : 1) }, onError);
  const runQuery = createQuery(pool, readMs);
  const runWriteQuery = createQuery(writePool, readMs);
  const older = openOlder && (await openOlder(runWriteQuery, watch));
  if (!older) await requireAllHere(runQuery);
  // Blocks are for many events. With ClickHouse, few are here.
  const blocks = older ? noBlocks(runQuery) : createBlocks(runQuery);
  const read = createRead(runQuery, blocks, Math.min(scanRowsUsual, blockEvents), older);
  const texts = createKnownTexts(runQuery, older);
  const people = peopleSource(runQuery);
  const sources = {
    scan: createScan(runQuery, read, blocks, older),
    readPeople: createReadPeople(people),
    readProperty: createReadProperty(runQuery),
    readGroups: createReadGroups(runQuery),
    aggregates: older?.aggregates({ readNewer: read.readNewer, people }) ?? null,
  };
  const buildBlocks = createBuildBlocks(runQuery, blockEvents);
  const removal = createDeleteEvents(runQuery, read, older);
  const expiry = createExpirePartitions(runQuery);
  const purge = createPurge(runQuery, older);
  const feed = new Feed({
    runQuery,
    connect: () => new pg.Client(connectionSettings(address)),
    node,
    durableArrival: read.durableArrival,
    onError,
  });
  const writer = createWriter({
    runQuery: runWriteQuery,
    node,
    partitions: new Partitions(runWriteQuery),
    older,
    onCommit: (commit) => feed.committed(commit),
    onError,
  });

  /**
   * Brings events back whose ids are sent again, so that the batch finds its duplicates. Each request waits for its own:
   * a batch is of many, and must not wait for ClickHouse.
   */
  function whenRestored<Result>(
    events: readonly AcceptedEvent[],
    store: () => Promise<Result>,
  ): Promise<Result> {
    const sent = older ? events.filter(({ hasClientId }) => hasClientId) : [];
    return older && sent.length > 0 ? older.restoreBefore(sent).then(store) : store();
  }

  return {
    older: older && { engine: "ClickHouse", status: older.status },
    get waiting() {
      return writer.waiting;
    },
    observeCommits(observer) {
      writer.onCommit = observer;
    },
    append: (event) => whenRestored([event], () => writer.append(event)),
    appendAll: (events) => whenRestored(events, () => writer.appendAll(events)),
    appendWith: (events, companion) => whenRestored(events, () => writer.appendWith(events, companion)),
    keepRejected: (rejected, retention) => writer.keepRejected(rejected, retention),
    ...fairReads(
      readsOfPeople(
        {
          page: read.page,
          stream: read.stream,
          startingWith: texts.startingWith,
          count: createCount(createCountSource(runQuery, read, blocks, older)),
          countNewer: createCountNewer(runQuery, older),
          ...createLateEvents(runQuery, older),
          users: texts.users,
          usersMatching: createUsersMatching(runQuery),
          ...limited({
            measure: (query, watch) => measure(sources, query, watch),
            funnel: (query, watch) => funnel(sources, query, watch),
            retention: (query, watch) => retention(sources, query, watch),
            paths: (query, watch) => paths(sources, query, watch),
            activity: (query, watch) => activity(sources, query, watch),
            countedUsers: (query, watch) => countedUsers(sources, query, watch),
            sessions: (query, watch) => sessions(sources, query, watch),
            usersWith: (query, watch) => usersWith(sources, query, watch),
          }),
        },
        control,
      ),
      Math.max(1, Math.floor(address.connections / 2)),
    ),
    find: read.find,
    arrivedAfter: read.arrivedAfter,
    follow: (follower) => feed.follow(follower),
    announceDeleted: (projectId, deleted) => feed.announceDeleted(projectId, deleted),
    tellAccount: (message) => feed.tellAccount(message),
    // Each commit updates them.
    flushCounters: async () => {},
    removalStep: older ? olderRemovalStep : removalStep,
    countRemovable: removal.countRemovable,
    remove: removal.remove,
    removeEmptyChannel: removal.removeEmptyChannel,
    // In ClickHouse, other events of a month can be left: `remove` takes those that have expired.
    removeExpired: older ? async () => 0 : expiry.removeExpired,
    shrink: purge.shrink,
    async indexBlocks(pause, nowMs) {
      await analyzeTables(runQuery);
      await (older ? older.ship(pause, nowMs) : buildBlocks(pause, nowMs));
    },
    async purge(pause, hasEvents = true) {
      // Detached partitions still contain events until they are cleared.
      await expiry.clearDetached(pause);
      await purge.purge(pause, hasEvents);
      await older?.rewrite();
      return { copies: 0 };
    },
    async ping() {
      await runWriteQuery(
        "SELECT (SELECT 1 FROM events LIMIT 1) AS read, setval('waits_for_log', 1) AS written",
      );
    },
    lastArrival: read.lastArrival,
    async close() {
      await writer.drain();
      await feed.close();
      await older?.close();
      await writePool.end();
    },
  };
}
