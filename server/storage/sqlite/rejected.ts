import type { Database } from "bun:sqlite";
import type { RejectedEvent, RejectedRetention } from "../store.ts";

/** Too old ones that go at a time: more than came, so that none stay, and few enough to hold nobody up. */
const expiredAtATime = 20;

/** Makes the function that keeps rejected events, within a transaction, and drops those that are too many or too old. */
export function createKeepRejected(database: Database) {
  const insert = database.prepare(
    `INSERT INTO rejected_events (project_id, key_id, body, cut, problem, rejected_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
  );
  const dropBeyond = database.prepare(
    `DELETE FROM rejected_events WHERE project_id = ?1 AND id <=
       (SELECT id FROM rejected_events WHERE project_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
  );
  // Ids grow with time, so the oldest of all projects come first.
  const dropExpired = database.prepare(
    `DELETE FROM rejected_events WHERE rejected_at < ?1 AND id IN (SELECT id FROM rejected_events ORDER BY id LIMIT ?2)`,
  );
  return function keepRejected(events: RejectedEvent[], keeping: RejectedRetention): void {
    const projects = new Set<number>();
    for (const { projectId, keyId, body, cut, problem, rejectedAt } of events) {
      insert.run(projectId, keyId, body, cut ? 1 : 0, problem, rejectedAt);
      projects.add(projectId);
    }
    for (const projectId of projects) dropBeyond.run(projectId, keeping.events);
    dropExpired.run(events.at(-1)!.rejectedAt - keeping.ms, events.length + expiredAtATime);
  };
}
