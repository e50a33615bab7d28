import { CamelCasePlugin, Kysely } from "kysely";
import type { Cursor } from "../../event/filter.ts";
import type { ArrivalStamp } from "../../event/id.ts";
import { exact } from "../../event/tokens.ts";
import type { ControlTables } from "../control-tables.ts";
import type {
  ArrivedEvent,
  Counts,
  EventQuery,
  EventStore,
  Follower,
  Page,
  Pause,
  Store,
  StoreWatch,
} from "../store.ts";
import { blockEventsUsual } from "./build-blocks.ts";
import { Check } from "./check.ts";
import { Damage } from "./damage.ts";
import { createClaimDeliveries } from "./deliveries.ts";
import { createDialect } from "./dialect.ts";
import { markOpen, unmarkOpen } from "./directory.ts";
import { migrateAside } from "./migrate-aside.ts";
import { databaseFile, openForReading, removeSnapshots } from "./open.ts";
import type { PurgeStep } from "./purge.ts";
import { Reader } from "./reader.ts";
import type { Chunk, DigestOn } from "./reader-thread.ts";
import { hasResidue } from "./residue-scan.ts";
import { SerialQueue } from "./serial-queue.ts";
import { Writer } from "./writer.ts";

/** Events that a streamed listing reads at a time: large enough to be quick, small enough for pages to slip between. */
const chunkEvents = 2_000;

/**
 * Opens the store in a directory, which is made where it is missing, and brings it to this program's version.
 *
 * @param blockEvents - events of a block that is digested
 */
export async function openSqliteStore(
  dataDirectory: string,
  { onFatal, onDamage, onInfo }: Pick<StoreWatch, "onFatal" | "onDamage" | "onInfo">,
  blockEvents = blockEventsUsual,
): Promise<Store> {
  await migrateAside(dataDirectory, onInfo);
  const damage = new Damage(databaseFile(dataDirectory), onDamage);
  let follower: Follower | null = null;
  const writer = await Writer.start(
    dataDirectory,
    (event, notified) => follower?.arrived(event, notified),
    damage.errorOf,
    onFatal,
  );
  markOpen(dataDirectory);
  const reader = await Reader.start(dataDirectory, blockEvents, damage.errorOf, onFatal);
  const reading = openForReading(databaseFile(dataDirectory));
  const control = new Kysely<ControlTables>({
    dialect: createDialect(writer, reading, damage.errorOf),
    plugins: [new CamelCasePlugin()],
  });

  // Of all searches and listings that take several turns, one turn waits for the reader at a time, and a page waits for that one alone.
  const furtherTurns = new SerialQueue();
  const readChunk = (query: EventQuery) =>
    furtherTurns.run(() => reader.ask<Chunk>({ kind: "chunk", query, limit: chunkEvents }));
  const check = new Check(dataDirectory, damage, onInfo);

  async function* stream(query: EventQuery): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let after: Cursor | null | undefined = query.after;
    while (after !== null) {
      const chunk: Chunk = await readChunk({ ...query, after });
      yield chunk.bytes;
      after = chunk.next;
    }
  }

  async function page(query: EventQuery, limit: number, signal?: AbortSignal): Promise<Page> {
    signal?.throwIfAborted();
    const readTurn = (query: EventQuery, limit: number) => reader.ask<Page>({ kind: "page", query, limit });
    let page = await readTurn(query, limit);
    const events = page.events;
    while (page.next !== null && events.length < limit) {
      const after = page.next;
      page = await furtherTurns.run(() => {
        signal?.throwIfAborted();
        return readTurn({ ...query, after }, limit - events.length);
      });
      for (const event of page.events) events.push(event);
    }
    return { events, next: page.next };
  }

  async function scrubAll(step: PurgeStep, pause: Pause): Promise<void> {
    while (await writer.scrub(step)) await pause();
  }

  const events: EventStore = {
    append: (event) => writer.append(event),
    page,
    appendAll: (events) => writer.appendAll(events),
    appendWith: (events, tie) => writer.appendTied(events, tie),
    keepRejected: (rejected, keeping) => writer.keepRejected(rejected, keeping),
    stream,
    find: (projectId, id) => reader.ask<string | null>({ kind: "find", projectId, id }),
    arrivedAfter: (projectId, moment, limit) =>
      reader.ask<ArrivedEvent[]>({ kind: "arrivedAfter", projectId, moment, limit }),
    startingWith: (projectId, texts, prefix, limit) =>
      reader.ask<string[]>({ kind: "startingWith", projectId, texts, prefix, limit }),
    flushCounters: () => writer.flushCounters(),
    removeEmptyChannel: (projectId, name) => writer.removeEmptyChannel(projectId, name),
    async count(query) {
      await writer.flushCounters();
      return reader.ask<Counts | null>({ kind: "count", query });
    },
    users: (query, limit) => reader.ask({ kind: "users", query, limit }),
    countRemovable: (removal) => reader.ask<number>({ kind: "countRemovable", removal }),
    remove: (removal, limit, jobId) => writer.remove(removal, limit, jobId),
    // The events of a file lie side by side, and go one after another.
    removeExpired: async () => 0,
    shrink: (pause) => scrubAll("shrink", pause),
    async indexBlocks(pause, nowMs) {
      await writer.flushCounters();
      for (let from: "the start" | "there" = "the start"; ; from = "there") {
        const next: DigestOn = await reader.ask({ kind: "digest", from, nowMs });
        if (!next) return;
        if (next.step) while (await writer.digest(next.step)) await pause();
        await pause();
      }
    },
    async purge(pause, userIds = []) {
      await writer.scrub("beginMerge");
      for (const step of ["merge", "forgetTokens", "shrink", "truncateLog"] as const)
        await scrubAll(step, pause);
      const forms = userIds.flatMap(formsOf);
      if (forms.length > 0 && (await hasResidue(databaseFile(dataDirectory), forms))) {
        for (const step of ["rewrite", "truncateLog"] as const) await scrubAll(step, pause);
      }
      return { copies: removeSnapshots(dataDirectory) };
    },
    async follow(who) {
      follower = who;
    },
    async announceDeleted(projectId, deleted) {
      follower?.deleted(projectId, deleted);
    },
    async ping() {
      damage.check();
      await reader.ask<void>({ kind: "ping" });
      await writer.execute(
        "INSERT INTO settings (name, value) VALUES ('ping', '') ON CONFLICT (name) DO UPDATE SET value = ''",
        [],
      );
    },
    lastArrival: () => reader.ask<ArrivalStamp | null>({ kind: "lastArrival" }),
  };

  return {
    events,
    control,
    claimDeliveries: createClaimDeliveries(control),
    async close() {
      check.close();
      await control.destroy();
      await writer.close();
      await reader.close();
      reading.close();
      unmarkOpen(dataDirectory);
    },
  };
}

/** How a user's id stands in the file: as it is, within JSON, and in the index. */
function formsOf(userId: string): string[] {
  return [userId, JSON.stringify(userId).slice(1, -1), exact(userId)];
}
