import { bigints, integers, uuids } from "../postgres/arrays.ts";
import type { Query } from "../postgres/query.ts";
import type { ClickHouse } from "./connection.ts";
import { keySql } from "./reads.ts";

/** Events that one statement deletes in ClickHouse. */
const stepEvents = 5_000;
const deleteMs = 300_000;
const rewriteMs = 30_000;
/** How long removals are known after they were applied: longer than any removal takes. */
const rememberMs = 3_600_000;

type Removal = { project_id: number; ms: number; id: string; block: number };

/** A condition for removals of one project and block. An event that is sent again with the same id is in a later block. */
function conditionOf(removals: readonly Removal[]): string {
  const { project_id, block } = removals[0]!;
  return `(project = ${project_id} AND block <= ${block} AND created IN (${removals.map(({ ms }) => ms).join(", ")})
    AND (created, id_hi, id_lo) IN (${removals.map(keySql).join(", ")}))`;
}

/** Deletes in ClickHouse what was removed in PostgreSQL, which notes it in the same commit. */
export function createRemovals(clickHouse: ClickHouse, runQuery: Query) {
  /**
   * Deletes noted events. A range that is on its way can still bring them, so those removed meanwhile stay noted until
   * `upTo`, the last block that is complete, has reached them.
   */
  async function apply(upTo: number, nowMs = Date.now()): Promise<void> {
    for (;;) {
      const removals = await runQuery<Removal>(
        `SELECT project_id, created_at AS ms, id, block FROM shipped_removals WHERE applied_at IS NULL
         ORDER BY block, project_id LIMIT $1`,
        [stepEvents],
      );
      if (removals.length === 0) return;
      const groups = Map.groupBy(removals, ({ project_id, block }) => `${project_id} ${block}`);
      await clickHouse.run(
        `DELETE FROM events WHERE ${[...groups.values()].map(conditionOf).join(" OR ")}
         SETTINGS lightweight_deletes_sync = 2`,
        {},
        deleteMs,
      );
      const applied = removals.filter(({ block }) => block <= upTo);
      await runQuery(
        `UPDATE shipped_removals AS known SET applied_at = $1
         FROM unnest($2::integer[], $3::bigint[], $4::uuid[], $5::bigint[]) AS done (project_id, created_at, id, block)
         WHERE known.project_id = done.project_id AND known.created_at = done.created_at AND known.id = done.id
           AND known.block = done.block`,
        [
          nowMs,
          integers(applied.map(({ project_id }) => project_id)),
          bigints(applied.map(({ ms }) => ms)),
          uuids(applied.map(({ id }) => id)),
          bigints(applied.map(({ block }) => block)),
        ],
      );
      if (applied.length < stepEvents) return;
    }
  }

  return {
    apply,

    /** The ids of a project's events that are noted, but not deleted yet. */
    async pending(projectId: number): Promise<Set<string>> {
      const rows = await runQuery<{ id: string }>(
        "SELECT id FROM shipped_removals WHERE applied_at IS NULL AND project_id = $1",
        [projectId],
      );
      return new Set(rows.map(({ id }) => id));
    },

    async forget(nowMs: number): Promise<void> {
      await runQuery("DELETE FROM shipped_removals WHERE applied_at < $1", [nowMs - rememberMs]);
    },

    /** Begins to rewrite the files that still contain deleted events. */
    async rewrite(): Promise<void> {
      await clickHouse.run(
        "ALTER TABLE events APPLY DELETED MASK SETTINGS mutations_sync = 0",
        {},
        rewriteMs,
      );
    },
  };
}
