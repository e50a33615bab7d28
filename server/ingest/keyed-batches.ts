import { type Kysely, sql } from "kysely";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Kysely<ControlTables>;
type RequestKey = { projectId: number; key: string };

/** `results` of a batch that is being stored, or was when its node ended. */
export const unfinished = "";
/** Expired keys that are deleted whenever a key is added: more than come, so that none accumulate. */
const expiredAtATime = 10;

/**
 * Keeps the key of a batch that takes several commits, before the first of them. Its template has the ids that its
 * events get. Returns false if the key exists already.
 */
export async function beginKeyedBatch(
  control: Control,
  { projectId, key }: RequestKey,
  bodyHash: string,
  responseTemplate: string,
): Promise<boolean> {
  const createdAt = Date.now();
  const expiredMs = createdAt - limits.idempotencyMs;
  const values = { bodyHash, responseTemplate, results: unfinished, createdAt };
  const added = await control
    .insertInto("idempotencyKeys")
    .values({ projectId, key, ...values })
    .onConflict((conflict) =>
      conflict
        .columns(["projectId", "key"])
        .doUpdateSet(values)
        .where("idempotencyKeys.createdAt", "<", expiredMs),
    )
    .returning("key")
    .executeTakeFirst();
  if (!added) return false;
  await sql`DELETE FROM idempotency_keys WHERE (project_id, key) IN
    (SELECT project_id, key FROM idempotency_keys WHERE created_at < ${expiredMs} ORDER BY created_at LIMIT ${expiredAtATime})`.execute(
    control,
  );
  return true;
}

/** Keeps the response, once all events are stored. */
export async function finishKeyedBatch(
  control: Control,
  { projectId, key }: RequestKey,
  responseTemplate: string,
): Promise<void> {
  await control
    .updateTable("idempotencyKeys")
    .set({ responseTemplate, results: "[]" })
    .where("projectId", "=", projectId)
    .where("key", "=", key)
    .where("results", "=", unfinished)
    .execute();
}

/** Makes the key of a batch of which nothing was stored usable again. */
export async function forgetKeyedBatch(control: Control, { projectId, key }: RequestKey): Promise<void> {
  await control
    .deleteFrom("idempotencyKeys")
    .where("projectId", "=", projectId)
    .where("key", "=", key)
    .where("results", "=", unfinished)
    .execute();
}
