import type { Database } from "bun:sqlite";
import { stampOfId } from "../../event/id.ts";
import { bodyOf, eventJson, idOf } from "../event-row.ts";
import type { AppendResult } from "../store.ts";
import type { BatchEvent } from "./batch.ts";
import type { CounterWriter } from "./counter-writer.ts";
import type { Merging } from "./merging.ts";
import { datedBit, lastDatedSequence, notBusy, rowKeyAt, rowKeySql } from "./row-key.ts";
import type { BlockWriter } from "./write-blocks.ts";

const firstBusy = datedBit + notBusy;

/**
 * Makes the function that stores a batch of events with all that belongs to them: index, channels and deliveries; it tells
 * `counting` and `merging` of each. It is to be called within a transaction, and gives a verdict for each event, in order.
 */
export function createAppend(
  database: Database,
  counting: CounterWriter,
  merging: Merging,
  digests: BlockWriter,
) {
  const insertSentId = database.prepare(
    `INSERT INTO sent_ids (project_id, id, position)
     VALUES (?1, unhex(?2, '-'), ${rowKeySql("?3", "?4")}) ON CONFLICT DO NOTHING`,
  );
  const removeSentId = database.prepare("DELETE FROM sent_ids WHERE project_id = ?1 AND id = unhex(?2, '-')");
  const selectSent = database.prepare<{ ms: number; body: string }, [number, string]>(
    `SELECT events.position >> 21 AS ms, events.body FROM sent_ids JOIN events USING (position)
     WHERE sent_ids.project_id = ?1 AND sent_ids.id = unhex(?2, '-')`,
  );
  const selectMade = database.prepare<{ ms: number; body: string }, [number, number, number, string]>(
    `SELECT position >> 21 AS ms, body FROM events
     WHERE (position = ${rowKeySql("?2", "?3")} OR arrival = ${rowKeySql("?2", "?3")})
       AND project_id = ?1 AND id = unhex(?4, '-')`,
  );
  const selectLastDated = database.prepare<{ sequence: number; id: string }, [bigint, bigint]>(
    `SELECT position & 2097151 AS sequence, lower(hex(id)) AS id FROM events WHERE position BETWEEN ?1 AND ?2
     ORDER BY position DESC LIMIT 1`,
  );
  const selectUnsorted = database.prepare<{ isThere: 1 }, [bigint, bigint]>(
    `SELECT 1 AS isThere FROM (
       SELECT id, lag(id) OVER (ORDER BY position) AS before FROM events WHERE position BETWEEN ?1 AND ?2)
     WHERE before > id LIMIT 1`,
  );
  const insertUnsorted = database.prepare("INSERT INTO unsorted_ms (ms) VALUES (?1) ON CONFLICT DO NOTHING");
  const insertEvent = database.prepare(
    `INSERT INTO events (position, project_id, id, arrival, body)
     VALUES (${rowKeySql("?1", "?2")}, ?3, unhex(?4, '-'), NULL, ?5)`,
  );
  const insertDatedEvent = database.prepare(
    `INSERT INTO events (position, project_id, id, arrival, body)
     VALUES (${rowKeySql("?1", "?2")}, ?3, unhex(?4, '-'), ${rowKeySql("?5", "?6")}, ?7)`,
  );
  const insertTokens = database.prepare(
    `INSERT INTO events_index (rowid, tokens) VALUES (${rowKeySql("?1", "?2")}, ?3)`,
  );
  const insertDeliveries = database.prepare(
    `INSERT INTO deliveries (project_id, event_id, account_id, destination_id, kind, label, state, created_at,
                             next_attempt_at, delivered_at)
     SELECT ?1, ?2, members.account_id, destinations.id, kind, label,
            iif(kind = 'dashboard', 'delivered', 'waiting'), ?3,
            iif(kind = 'dashboard', NULL, ?3), iif(kind = 'dashboard', ?3, NULL)
     FROM members JOIN destinations USING (account_id) WHERE members.project_id = ?1 AND enabled = 1`,
  );

  /** Claims an id that a client made, for an event at this place; gives the event that has it already, or null. */
  function claimId(projectId: number, id: string, ms: number, sequence: number): string | null {
    const isNew = insertSentId.run(projectId, id, ms, sequence).changes === 1;
    const moment = stampOfId(id);
    const found = isNew
      ? selectMade.get(projectId, moment.ms, moment.sequence, id)
      : selectSent.get(projectId, id);
    if (!found) return null;
    // An id that the server made is found through its moment, and needs no entry.
    if (isNew) removeSentId.run(projectId, id);
    return eventJson(id.replaceAll("-", ""), found.body, found.ms);
  }

  /** The next free sequence of a millisecond among the events whose arrival is another, or null where there is none. */
  function nextDatedSequence(ms: number, id: string): number | null {
    const last = selectLastDated.get(rowKeyAt(ms, datedBit), rowKeyAt(ms, lastDatedSequence));
    if (!last) return datedBit;
    if (last.sequence === lastDatedSequence) return null;
    const sequence = last.sequence + 1;
    // Readers find their place in a busy millisecond by its ids where these rise; of a few events they sort them.
    const isUnsorted =
      sequence >= firstBusy &&
      (last.id > id.replaceAll("-", "") ||
        (sequence === firstBusy && selectUnsorted.get(rowKeyAt(ms, datedBit), rowKeyAt(ms, sequence))));
    if (isUnsorted) insertUnsorted.run(ms);
    return sequence;
  }

  return function append(events: BatchEvent[]): AppendResult[] {
    const verdicts = new Array<AppendResult>(events.length);
    const digestedMs = digests.endMs();
    for (const index of inOrderOfTime(events)) {
      const event = events[index]!;
      const id = idOf(event.json);
      const { projectId, createdAtMs } = event;
      const sequence = event.dated ? nextDatedSequence(createdAtMs, id) : event.arrivalSequence;
      if (sequence === null) {
        verdicts[index] = { kind: "timestampFull" };
        continue;
      }
      if (event.hasClientId) {
        const duplicate = claimId(projectId, id, createdAtMs, sequence);
        if (duplicate !== null) {
          verdicts[index] = { kind: "duplicate", json: duplicate };
          continue;
        }
      }
      const body = bodyOf(event.json);
      if (event.dated) {
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
      if (createdAtMs < digestedMs) digests.came(createdAtMs, sequence);
      counting.add(projectId, event.channel, event.name, createdAtMs, event.receivedMs);
      const notified = event.notifies && insertDeliveries.run(projectId, id, event.receivedMs).changes > 0;
      verdicts[index] = notified ? createdAndNotified : created;
    }
    return verdicts;
  };
}

const created: AppendResult = { kind: "created", notified: false };
const createdAndNotified: AppendResult = { kind: "created", notified: true };

/** The events' indices, oldest first: rows of falling ids cost the full-text index ten times as much. */
function inOrderOfTime(events: BatchEvent[]): number[] {
  const order = events.map((_, index) => index);
  if (events.some((event) => event.dated)) {
    order.sort((a, b) => events[a]!.createdAtMs - events[b]!.createdAtMs || a - b);
  }
  return order;
}
