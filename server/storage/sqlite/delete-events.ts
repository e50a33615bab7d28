import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import { stampOfId } from "../../event/id.ts";
import { token } from "../../event/tokens.ts";
import { Turns } from "../../scheduling/turns.ts";
import { CounterDeltas } from "../counter-deltas.ts";
import type { FoundEvent, FoundEvents, OneEvent, Removal } from "../event-queries.ts";
import { dashed } from "../event-row.ts";
import type { Bodies } from "./bodies.ts";
import { createCountEntries } from "./count-entries.ts";
import type { CounterWriter } from "./counter-writer.ts";
import type { Merging } from "./merging.ts";
import type { PackBodies } from "./pack-bodies.ts";
import { latest, rowKeyAt, rowKeySql } from "./row-key.ts";
import type { BlockWriter } from "./write-blocks.ts";

type Row = FoundEvent & { id: string; body: string; isCounted: 0 | 1 };
/** Events that the reader found, or one by its id. */
export type SomeEvents = (Removal & { rows: readonly FoundEvent[] }) | OneEvent;
/** `tried`: how many of the events that the reader found are gone. Others may have removed some before. */
export type RemovedSome = { ids: string[]; tried: number };

/** A step ends after this time, so that events don't wait for it, or else after so many events. */
const stepMs = 1.5;
const stepEventsMin = 10;

/** `isCounted`: the event is in the entry of its user (users/user-activity.ts). */
const columns = `events.row_key >> 21 AS ms, events.row_key & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body,
  coalesce(events.arrival, events.row_key) <= coalesce(
    (SELECT ms << 21 | sequence FROM user_activity_positions WHERE project_id = events.project_id), -1) AS isCounted`;

/** Whose entry has the events of the ID ?2: the person's. */
const personOf = "coalesce((SELECT person_id FROM person_ids WHERE project_id = ?1 AND user_id = ?2), ?2)";

/** Removes events with everything that belongs to them. Call it within a transaction. */
export function createRemove(
  database: Database,
  counterWriter: CounterWriter,
  merging: Merging,
  blockWriter: BlockWriter,
  bodies: Bodies,
  packBodies: PackBodies,
) {
  const selectRow = database.prepare<Row, [number, number, number]>(
    `SELECT ${columns} FROM events WHERE row_key = ${rowKeySql("?2", "?3")} AND project_id = ?1`,
  );
  const selectOne = database.prepare<FoundEvent, [number, string, number, number]>(
    `SELECT row_key >> 21 AS ms, row_key & 2097151 AS sequence FROM events
     WHERE project_id = ?1 AND id = unhex(?2, '-') AND row_key IN (
       SELECT row_key FROM sent_ids WHERE project_id = ?1 AND id = unhex(?2, '-')
       UNION ALL SELECT ${rowKeySql("?3", "?4")}
       UNION ALL SELECT row_key FROM events WHERE arrival = ${rowKeySql("?3", "?4")})`,
  );
  const overwriteEvent = database.prepare(
    `UPDATE events SET body = replace(hex(zeroblob(octet_length(body))), '00', ' ')
     WHERE row_key = ${rowKeySql("?1", "?2")}`,
  );
  const deleteEvent = database.prepare(`DELETE FROM events WHERE row_key = ${rowKeySql("?1", "?2")}`);
  const deleteTokens = database.prepare(`DELETE FROM events_index WHERE rowid = ${rowKeySql("?1", "?2")}`);
  const deleteSentId = database.prepare("DELETE FROM sent_ids WHERE project_id = ?1 AND id = unhex(?2)");
  const deleteOutbox = database.prepare("DELETE FROM outbox WHERE event_id = ?1 AND project_id = ?2");
  const deleteDeliveries = database.prepare("DELETE FROM deliveries WHERE event_id = ?1 AND project_id = ?2");
  const subtractFromCounter = database.prepare(
    "UPDATE counters SET events = events - ?5 WHERE project_id = ?1 AND channel = ?2 AND name = ?3 AND hour = ?4",
  );
  const deleteEmptyCounter = database.prepare(
    "DELETE FROM counters WHERE project_id = ?1 AND channel = ?2 AND name = ?3 AND hour = ?4 AND events <= 0",
  );
  const subtractFromChannelCounter = database.prepare(
    "UPDATE channel_counters SET events = events - ?4 WHERE project_id = ?1 AND channel = ?2 AND hour = ?3",
  );
  const deleteEmptyChannelCounter = database.prepare(
    "DELETE FROM channel_counters WHERE project_id = ?1 AND channel = ?2 AND hour = ?3 AND events <= 0",
  );
  const subtractFromChannel = database.prepare<{ lastMs: number }, [number, string, number]>(
    `UPDATE channels SET events = events - ?3 WHERE project_id = ?1 AND name = ?2
     RETURNING coalesce(last_event_at, 0) AS lastMs`,
  );
  // Starts at the channel's last hour with events: the index also goes through the entries of removed events, however
  // many.
  const selectNewest = database.prepare<{ ms: number }, [string, number, string]>(
    `SELECT rowid >> 21 AS ms FROM events_index
     WHERE events_index MATCH ?1 AND rowid >= ${rowKeySql(
       "(SELECT max(hour) * 3600000 FROM channel_counters WHERE project_id = ?2 AND channel = ?3)",
       "0",
     )} ORDER BY rowid DESC LIMIT 1`,
  );
  const updateLastEvent = database.prepare(
    "UPDATE channels SET last_event_at = ?3 WHERE project_id = ?1 AND name = ?2",
  );
  /** `?2`: whether uncounted events are among them. */
  const noteRemoval = database.prepare(
    `INSERT INTO user_activity_positions (project_id, ms, sequence, removals, changes)
     SELECT id, 0, 0, ?2, 1 FROM projects WHERE id = ?1
     ON CONFLICT DO UPDATE SET removals = removals + excluded.removals, changes = changes + 1`,
  );
  const subtractFromUser = database.prepare(
    `UPDATE user_activity SET events = events - ?3, stale = stale + (first_at >= ?4 OR last_at <= ?5)
     WHERE project_id = ?1 AND user_id = ${personOf}`,
  );
  const deleteEmptyUser = database.prepare(
    `DELETE FROM user_activity WHERE project_id = ?1 AND user_id = ${personOf} AND events <= 0`,
  );
  const addToJob = database.prepare("UPDATE jobs SET done = done + ?2 WHERE id = ?1");

  function find(some: SomeEvents): readonly FoundEvent[] {
    if ("rows" in some) return some.rows;
    const { ms, sequence } = stampOfId(some.id);
    return selectOne.all(some.projectId, some.id, ms, sequence);
  }

  /** Since the reader found an event, it may have been removed, and another stored in its place. */
  function readRows(some: SomeEvents, found: readonly FoundEvent[]): (Row & { event: Event })[] {
    return found
      .flatMap(({ ms, sequence }) => selectRow.all(some.projectId, ms, sequence))
      .map((row) => ({ ...row, event: JSON.parse(`{${bodies.of(row.body)}}`) as Event }))
      .filter(({ event }) => "id" in some || isCovered(event, some));
  }

  return function remove(some: SomeEvents, jobId?: string): RemovedSome {
    const { projectId } = some;
    // The counts to subtract may not have been added yet.
    counterWriter.flush();
    const untilMs = performance.now() + stepMs;
    const found = find(some);
    const removed: string[] = [];
    let isAllCounted = true;
    const counts = new CounterDeltas();
    const ofUsers = new Map<string, { counted: number; firstMs: number; lastMs: number }>();
    const blocksEndMs = blockWriter.endMs();
    let tried = 0;
    while (tried < found.length && (tried === 0 || performance.now() < untilMs)) {
      const rows = readRows(some, found.slice(tried, tried + stepEventsMin));
      tried += stepEventsMin;
      // Overwrite the rows in place first: when SQLite deletes rows it moves others, and leaves copies of these.
      for (const { ms, sequence } of rows) overwriteEvent.run(ms, sequence);
      for (const { ms, sequence, id, body, isCounted, event } of rows) {
        deleteEvent.run(ms, sequence);
        deleteTokens.run(ms, sequence);
        merging.removed();
        deleteSentId.run(projectId, id);
        if (ms < blocksEndMs) blockWriter.noteRemoved(ms, sequence);
        deleteOutbox.run(dashed(id), projectId);
        deleteDeliveries.run(dashed(id), projectId);
        const { channelId, name, userId } = event;
        removed.push(dashed(id));
        if (!isCounted) isAllCounted = false;
        packBodies.removed(body);
        counts.add(projectId, channelId, name, ms);
        if (userId === "") continue;
        const { counted, firstMs, lastMs } = ofUsers.get(userId) ?? { counted: 0, firstMs: ms, lastMs: ms };
        ofUsers.set(userId, {
          counted: counted + isCounted,
          firstMs: Math.min(firstMs, ms),
          lastMs: Math.max(lastMs, ms),
        });
      }
    }
    if (removed.length > 0) noteRemoval.run(projectId, Number(!isAllCounted));
    for (const [userId, { counted, firstMs, lastMs }] of ofUsers) {
      subtractFromUser.run(projectId, userId, counted, firstMs, lastMs);
      if (counted > 0) deleteEmptyUser.run(projectId, userId);
    }
    for (const { channel, name, hour, events } of counts.byHour()) {
      subtractFromCounter.run(projectId, channel, name, hour, events);
      deleteEmptyCounter.run(projectId, channel, name, hour);
    }
    for (const { channel, hour, events } of counts.byChannelAndHour()) {
      subtractFromChannelCounter.run(projectId, channel, hour, events);
      deleteEmptyChannelCounter.run(projectId, channel, hour);
    }
    for (const { channel, events, lastMs } of counts.byChannel()) {
      const known = subtractFromChannel.get(projectId, channel, events);
      if (!known || known.lastMs > lastMs) continue;
      const newest = selectNewest.get(`"${token.channel(projectId, channel)}"`, projectId, channel);
      updateLastEvent.run(projectId, channel, newest?.ms ?? null);
    }
    if (jobId !== undefined) addToJob.run(jobId, removed.length);
    return { ids: removed, tried: Math.min(tried, found.length) };
  };
}

/**
 * Finds events to remove. A search of the index passes over the entries of all events that were removed before, which
 * takes 10 ms after 100,000, so the reader does it, for many steps at once.
 *
 * @param after - the last one that was found before
 */
export function createFindRemovable(database: Database) {
  const selectFound = database.prepare<FoundEvent, [string, bigint, bigint, number]>(
    `SELECT rowid >> 21 AS ms, rowid & 2097151 AS sequence FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid LIMIT ?4`,
  );
  return (removal: Removal, after: FoundEvent | null, limit: number): FoundEvents => {
    const [low, high] = boundsOf(removal);
    const from = after === null ? low : rowKeyAt(after.ms, after.sequence) + 1n;
    const rows = selectFound.all(matchOf(removal), from, high, limit);
    return { rows, last: rows.length < limit ? null : rows.at(-1)! };
  };
}

/** Counts the events that a removal applies to. */
export function createCountRemovable(database: Database) {
  const countEntries = createCountEntries(database);
  return (removal: Removal): Promise<number> =>
    countEntries(matchOf(removal), ...boundsOf(removal), new Turns(removal.projectId));
}

function isCovered({ channelId, userId }: Event, { channels, userIds }: Removal): boolean {
  return (channels?.includes(channelId) ?? true) && (userIds?.includes(userId) ?? true);
}

function matchOf({ projectId, channels, userIds }: Removal): string {
  const conditions: string[][] = [];
  if (channels) conditions.push(channels.map((channel) => token.channel(projectId, channel)));
  if (userIds) conditions.push(userIds.map((userId) => token.user(projectId, userId)));
  if (conditions.length === 0) conditions.push([token.every(projectId)]);
  return conditions.map((tokens) => `(${tokens.map((each) => `"${each}"`).join(" OR ")})`).join(" AND ");
}

function boundsOf({ fromMs, toMs }: Removal): [low: bigint, high: bigint] {
  return [rowKeyAt(Math.max(fromMs ?? 0, 0)), toMs === undefined ? latest : rowKeyAt(toMs) - 1n];
}
