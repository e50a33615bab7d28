import type { Database } from "bun:sqlite";
import { limits } from "../../core/limits.ts";
import type { AppendCompanion, AppendResult } from "../event-store.ts";
import { type BatchEvent, decodeBatch } from "./batch.ts";

/** Expired keys that are deleted whenever a key is added: more than come, so that none accumulate. */
const expiredAtATime = 10;

/** Events, as `encodeBatch` made them, and their companion. */
export type CompanionBatch = { batch: string; companion: AppendCompanion };

/** Stores events and their companion. Call it within a transaction. */
export function createAppendWith(database: Database, append: (events: BatchEvent[]) => AppendResult[]) {
  const insertKey = database.prepare(
    `INSERT INTO idempotency_keys (project_id, key, body_hash, response_template, results, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT DO UPDATE SET body_hash = excluded.body_hash, response_template = excluded.response_template, results = excluded.results,
       created_at = excluded.created_at`,
  );
  const dropExpiredKeys = database.prepare(
    `DELETE FROM idempotency_keys WHERE (project_id, key) IN
       (SELECT project_id, key FROM idempotency_keys WHERE created_at < ?1 ORDER BY created_at LIMIT ?2)`,
  );
  const selectKey = database.prepare<{ createdAt: number }, [number, string, number]>(
    "SELECT created_at AS createdAt FROM idempotency_keys WHERE project_id = ?1 AND key = ?2 AND created_at >= ?3",
  );
  const selectRejected = database.prepare<{ id: number }, [number, number]>(
    "SELECT id FROM rejected_events WHERE id = ?1 AND project_id = ?2",
  );
  const dropRejected = database.prepare("DELETE FROM rejected_events WHERE id = ?1");

  return function appendWith({ batch, companion }: CompanionBatch): AppendResult[] | null {
    const events = decodeBatch(batch);
    const { projectId, receivedMs: now } = events[0]!;
    if (companion.kind === "replay" && selectRejected.get(companion.rejectedId, projectId) === null)
      return null;
    const expiredMs = now - limits.idempotencyMs;
    if (companion.kind === "idempotency" && selectKey.get(projectId, companion.key, expiredMs) !== null)
      return null;
    const results = append(events);
    if (results.every(({ kind }) => kind === "timestampFull")) return results;
    if (companion.kind === "replay") dropRejected.run(companion.rejectedId);
    else {
      insertKey.run(
        projectId,
        companion.key,
        companion.bodyHash,
        companion.responseTemplate,
        JSON.stringify(results),
        now,
      );
      dropExpiredKeys.run(expiredMs, expiredAtATime);
    }
    return results;
  };
}
