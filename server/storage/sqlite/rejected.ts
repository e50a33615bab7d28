import type { Database } from "bun:sqlite";
import type { RejectedEvent, RejectedRetention } from "../event-store.ts";

/** Expired events deleted beyond the number that is added: enough that none accumulate, few enough to delay nothing. */
const expiredAtATime = 20;

/** Keeps rejected events and trims them by count and age. Call it within a transaction. */
export function createKeepRejected(database: Database) {
  const insert = database.prepare(
    `INSERT INTO rejected_events (project_id, key_id, body, cut, problem, reason, rejected_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
  );
  const dropBeyond = database.prepare(
    `DELETE FROM rejected_events WHERE project_id = ?1 AND id <=
       (SELECT id FROM rejected_events WHERE project_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
  );
  // Ids grow with time, so the oldest of all projects come first.
  const dropExpired = database.prepare(
    `DELETE FROM rejected_events WHERE rejected_at < ?1 AND id IN (SELECT id FROM rejected_events ORDER BY id LIMIT ?2)`,
  );
  return function keepRejected(events: RejectedEvent[], retention: RejectedRetention): void {
    const projects = new Set<number>();
    for (const { projectId, keyId, body, cut, problem, reason, rejectedAt } of events) {
      insert.run(projectId, keyId, body, cut ? 1 : 0, problem, reason, rejectedAt);
      projects.add(projectId);
    }
    for (const projectId of projects) dropBeyond.run(projectId, retention.events);
    dropExpired.run(events.at(-1)!.rejectedAt - retention.ms, events.length + expiredAtATime);
  };
}
