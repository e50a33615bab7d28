import type { Database } from "bun:sqlite";
import { limits } from "../../limits.ts";
import type { AppendCompanion, AppendResult } from "../store.ts";
import { type BatchEvent, decodeBatch } from "./batch.ts";

/** Keys that are past their time go a few at a time, whenever one is added: more go than come. */
const expiredAtATime = 10;

/** Events that are stored together with what is tied to them. */
export type CompanionBatch = { batch: string; tie: AppendCompanion };

/** Makes the function that stores events and what is tied to them, within a transaction. */
export function createAppendWith(database: Database, append: (events: BatchEvent[]) => AppendResult[]) {
  const insertKey = database.prepare(
    `INSERT INTO idempotency_keys (project_id, key, body_hash, draft, verdicts, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT DO UPDATE SET body_hash = excluded.body_hash, draft = excluded.draft, verdicts = excluded.verdicts,
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

  return function appendTied({ batch, tie }: CompanionBatch): AppendResult[] | null {
    const events = decodeBatch(batch);
    const { projectId, receivedMs: now } = events[0]!;
    if (tie.kind === "replay" && selectRejected.get(tie.rejectedId, projectId) === null) return null;
    const expiredMs = now - limits.idempotencyMs;
    if (tie.kind === "idempotency" && selectKey.get(projectId, tie.key, expiredMs) !== null) return null;
    const verdicts = append(events);
    if (verdicts.every(({ kind }) => kind === "timestampFull")) return verdicts;
    if (tie.kind === "replay") dropRejected.run(tie.rejectedId);
    else {
      insertKey.run(projectId, tie.key, tie.bodyHash, tie.draft, JSON.stringify(verdicts), now);
      dropExpiredKeys.run(expiredMs, expiredAtATime);
    }
    return verdicts;
  };
}
