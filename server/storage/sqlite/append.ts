import type { Database } from "bun:sqlite";
import { stampOfId } from "../../event/id.ts";
import { bodyOf, eventJson, idOf } from "../event-row.ts";
import type { AppendResult } from "../event-store.ts";
import type { BatchEvent } from "./batch.ts";
import type { Bodies } from "./bodies.ts";
import type { CounterWriter } from "./counter-writer.ts";
import type { Merging } from "./merging.ts";
import { busyFrom, datedBit, lastDatedSequence, rowKeyAt, rowKeySql } from "./row-key.ts";
import type { BlockWriter } from "./write-blocks.ts";

const firstBusy = datedBit + busyFrom;

/**
 * Stores a batch of events with their index entries, channels and outbox, and reports each to the counter writer,
 * merging and the block writer. Returns the results in the order of the events. Call it within a transaction.
 */
export function createAppend(
  database: Database,
  counterWriter: CounterWriter,
  merging: Merging,
  blockWriter: BlockWriter,
  bodies: Bodies,
) {
  const insertSentId = database.prepare(
    `INSERT INTO sent_ids (project_id, id, row_key)
     VALUES (?1, unhex(?2, '-'), ${rowKeySql("?3", "?4")}) ON CONFLICT DO NOTHING`,
  );
  const removeSentId = database.prepare("DELETE FROM sent_ids WHERE project_id = ?1 AND id = unhex(?2, '-')");
  const selectSent = database.prepare<{ ms: number; body: string }, [number, string]>(
    `SELECT events.row_key >> 21 AS ms, events.body FROM sent_ids JOIN events USING (row_key)
     WHERE sent_ids.project_id = ?1 AND sent_ids.id = unhex(?2, '-')`,
  );
  const selectMade = database.prepare<{ ms: number; body: string }, [number, number, number, string]>(
    `SELECT row_key >> 21 AS ms, body FROM events
     WHERE (row_key = ${rowKeySql("?2", "?3")} OR arrival = ${rowKeySql("?2", "?3")})
       AND project_id = ?1 AND id = unhex(?4, '-')`,
  );
  const selectLastDated = database.prepare<{ sequence: number; id: string }, [bigint, bigint]>(
    `SELECT row_key & 2097151 AS sequence, lower(hex(id)) AS id FROM events WHERE row_key BETWEEN ?1 AND ?2
     ORDER BY row_key DESC LIMIT 1`,
  );
  const selectUnsorted = database.prepare<{ isThere: 1 }, [bigint, bigint]>(
    `SELECT 1 AS isThere FROM (
       SELECT id, lag(id) OVER (ORDER BY row_key) AS before FROM events WHERE row_key BETWEEN ?1 AND ?2)
     WHERE before > id LIMIT 1`,
  );
  const insertUnsorted = database.prepare("INSERT INTO unsorted_ms (ms) VALUES (?1) ON CONFLICT DO NOTHING");
  const insertEvent = database.prepare(
    `INSERT INTO events (row_key, project_id, id, arrival, body)
     VALUES (${rowKeySql("?1", "?2")}, ?3, unhex(?4, '-'), NULL, ?5)`,
  );
  const insertDatedEvent = database.prepare(
    `INSERT INTO events (row_key, project_id, id, arrival, body)
     VALUES (${rowKeySql("?1", "?2")}, ?3, unhex(?4, '-'), ${rowKeySql("?5", "?6")}, ?7)`,
  );
  const insertTokens = database.prepare(
    `INSERT INTO events_index (rowid, tokens) VALUES (${rowKeySql("?1", "?2")}, ?3)`,
  );
  const insertOutbox = database.prepare(
    "INSERT INTO outbox (project_id, event_id, created_at) VALUES (?1, ?2, ?3)",
  );

  /**
   * Claims a client's id for the event with this row key. Returns the JSON of the event that already has the id, or
   * null.
   */
  function claimId(projectId: number, id: string, ms: number, sequence: number): string | null {
    const isNew = insertSentId.run(projectId, id, ms, sequence).changes === 1;
    const stamp = stampOfId(id);
    const found = isNew
      ? selectMade.get(projectId, stamp.ms, stamp.sequence, id)
      : selectSent.get(projectId, id);
    if (!found) return null;
    // An id that the server made is found through its timestamp and needs no entry.
    if (isNew) removeSentId.run(projectId, id);
    return eventJson(id.replaceAll("-", ""), bodies.of(found.body), found.ms);
  }

  /** The next free sequence of a millisecond for a dated event (row-key.ts), or null if it is full. */
  function nextDatedSequence(ms: number, id: string): number | null {
    const last = selectLastDated.get(rowKeyAt(ms, datedBit), rowKeyAt(ms, lastDatedSequence));
    if (!last) return datedBit;
    if (last.sequence === lastDatedSequence) return null;
    const sequence = last.sequence + 1;
    // Readers bisect a busy millisecond by id as long as ids rise. The rows of other milliseconds are sorted.
    const breaksOrder =
      sequence >= firstBusy &&
      (last.id > id.replaceAll("-", "") ||
        (sequence === firstBusy && selectUnsorted.get(rowKeyAt(ms, datedBit), rowKeyAt(ms, sequence))));
    if (breaksOrder) insertUnsorted.run(ms);
    return sequence;
  }

  return function append(events: BatchEvent[]): AppendResult[] {
    const results = new Array<AppendResult>(events.length);
    const blocksEndMs = blockWriter.endMs();
    for (const index of inOrderOfTime(events)) {
      const event = events[index]!;
      const id = idOf(event.json);
      const { projectId, createdAtMs } = event;
      const sequence = event.hasClientTimestamp ? nextDatedSequence(createdAtMs, id) : event.arrivalSequence;
      if (sequence === null) {
        results[index] = { kind: "timestampFull" };
        continue;
      }
      if (event.hasClientId) {
        const duplicate = claimId(projectId, id, createdAtMs, sequence);
        if (duplicate !== null) {
          results[index] = { kind: "duplicate", json: duplicate };
          continue;
        }
      }
      const body = bodyOf(event.json);
      if (event.hasClientTimestamp) {
        insertDatedEvent.run(
          createdAtMs,
          sequence,
          projectId,
          id,
          event.arrivalMs,
          event.arrivalSequence,
          body,
        );
      } else {
        insertEvent.run(createdAtMs, sequence, projectId, id, body);
      }
      insertTokens.run(createdAtMs, sequence, event.tokens);
      merging.added(event.tokens);
      if (createdAtMs < blocksEndMs) blockWriter.noteAdded(createdAtMs, sequence);
      counterWriter.add(projectId, event.channel, event.name, createdAtMs, event.receivedMs);
      if (event.notifies) insertOutbox.run(projectId, id, event.receivedMs);
      results[index] = created;
    }
    return results;
  };
}

const created: AppendResult = { kind: "created" };

/** The events' indexes, oldest first: descending row ids cost the full-text index ten times as much. */
function inOrderOfTime(events: BatchEvent[]): number[] {
  const order = events.map((_, index) => index);
  if (events.some((event) => event.hasClientTimestamp)) {
    order.sort((a, b) => events[a]!.createdAtMs - events[b]!.createdAtMs || a - b);
  }
  return order;
}
