import type { Database } from "bun:sqlite";
import { CountedNames } from "../counted-names.ts";
import { CounterDeltas } from "../counter-deltas.ts";

/** Events whose counts can wait in `uncounted`. The commit that reaches this number flushes them. */
const waitingEventsMax = 1_000;
const knownChannelsMax = 10_000;

export type CounterWriter = ReturnType<typeof createCounterWriter>;

/**
 * Counts the events of each commit. A commit writes its deltas as one row of `uncounted`. The counters themselves,
 * dozens of rows, are updated once every thousand events, and before they are read. Measured with 128 clients, this
 * saves the writer a sixth of its time per event.
 */
export function createCounterWriter(database: Database) {
  const insertChannel = database.prepare(
    "INSERT INTO channels (project_id, name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
  );
  const insertUncounted = database.prepare("INSERT INTO uncounted (counts) VALUES (?1)");
  const selectUncounted = database.prepare<{ counts: string }, []>("SELECT counts FROM uncounted");
  const deleteUncounted = database.prepare("DELETE FROM uncounted");
  const addToCounter = database.prepare(
    `INSERT INTO counters (project_id, channel, name, hour, events) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT DO UPDATE SET events = events + excluded.events`,
  );
  const addToChannelCounter = database.prepare(
    `INSERT INTO channel_counters (project_id, channel, hour, events) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT DO UPDATE SET events = events + excluded.events`,
  );
  // The project can be deleted by now, while its events are still being removed.
  const addToChannel = database.prepare(
    `INSERT INTO channels (project_id, name, events, last_event_at, created_at)
     SELECT id, ?2, ?3, ?4, ?4 FROM projects WHERE id = ?1
     ON CONFLICT DO UPDATE SET events = events + excluded.events,
       last_event_at = max(coalesce(last_event_at, 0), excluded.last_event_at)`,
  );

  const names = new CountedNames();
  let counts = new CounterDeltas();
  let events = 0;
  /** Events in `uncounted`; infinite if that is not known. */
  let waiting = Number.POSITIVE_INFINITY;
  const knownChannels = new Set<string>();

  /** Brings the counters up to date. Call it within a transaction. */
  function flush(): void {
    if (waiting === 0) return;
    for (const row of selectUncounted.all()) counts.addJson(row.counts);
    deleteUncounted.run();
    for (const count of counts.byHour()) {
      addToCounter.run(count.projectId, count.channel, count.name, count.hour, count.events);
    }
    for (const count of counts.byChannelAndHour()) {
      addToChannelCounter.run(count.projectId, count.channel, count.hour, count.events);
    }
    for (const count of counts.byChannel()) {
      addToChannel.run(count.projectId, count.channel, count.events, count.lastMs);
    }
    counts = new CounterDeltas();
    events = 0;
    waiting = 0;
  }

  return {
    flush,

    /** Whether there can be something to flush. */
    get isBehind(): boolean {
      return waiting > 0;
    },

    /** Counts an event of the current transaction, and creates its channel if there is none. */
    add(projectId: number, channel: string, name: string, createdAtMs: number, receivedMs: number): void {
      const key = `${projectId} ${channel}`;
      if (!knownChannels.has(key)) {
        insertChannel.run(projectId, channel, receivedMs);
        if (knownChannels.size >= knownChannelsMax) knownChannels.clear();
        knownChannels.add(key);
      }
      counts.add(projectId, channel, names.of(projectId, channel, name, createdAtMs), createdAtMs);
      events++;
    },

    /** Writes the deltas of the current transaction. Call it last. */
    write(): void {
      if (events === 0) return;
      waiting += events;
      if (waiting >= waitingEventsMax) {
        flush();
        return;
      }
      insertUncounted.run(counts.toJson());
      counts = new CounterDeltas();
      events = 0;
    },

    /** Call it after a rollback. */
    rolledBack(): void {
      counts = new CounterDeltas();
      events = 0;
      waiting = Number.POSITIVE_INFINITY;
      knownChannels.clear();
    },

    /** Call it after other writes, which can delete channels. */
    forgetChannels(): void {
      knownChannels.clear();
    },
  };
}
