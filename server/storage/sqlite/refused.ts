import type { Database } from "bun:sqlite";
import type { RefusedEvent, RefusedKeeping } from "../store.ts";

/** Too old ones that go at a time: more than came, so that none stay, and few enough to hold nobody up. */
const expiredAtATime = 20;

/** Makes the function that keeps refused events, within a transaction, and drops those that are too many or too old. */
export function createKeepRefused(database: Database) {
  const insert = database.prepare(
    `INSERT INTO refused_events (project_id, key_id, body, cut, problem, refused_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
  );
  const dropBeyond = database.prepare(
    `DELETE FROM refused_events WHERE project_id = ?1 AND id <=
       (SELECT id FROM refused_events WHERE project_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
  );
  // Ids grow with time, so the oldest of all projects come first.
  const dropExpired = database.prepare(
    `DELETE FROM refused_events WHERE refused_at < ?1 AND id IN (SELECT id FROM refused_events ORDER BY id LIMIT ?2)`,
  );
  return function keepRefused(events: RefusedEvent[], keeping: RefusedKeeping): void {
    const projects = new Set<number>();
    for (const { projectId, keyId, body, cut, problem, refusedAt } of events) {
      insert.run(projectId, keyId, body, cut ? 1 : 0, problem, refusedAt);
      projects.add(projectId);
    }
    for (const projectId of projects) dropBeyond.run(projectId, keeping.events);
    dropExpired.run(events.at(-1)!.refusedAt - keeping.ms, events.length + expiredAtATime);
  };
}
