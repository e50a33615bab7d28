import { Turns } from "../../scheduling/turns.ts";
import { uuids } from "../postgres/arrays.ts";
import type { Query } from "../postgres/query.ts";
import type { Ranges } from "./ranges.ts";
import { halvesOf } from "./rows.ts";
import type { PreparedServer } from "./schema.ts";
import { SentRows } from "./sent-rows.ts";
import { onEach, type PlacedServer, type Servers } from "./servers.ts";

/** Events that one statement deletes in ClickHouse, where a few take about as long. */
const stepEvents = 20_000;
const deleteMs = 300_000;
const rewriteMs = 30_000;
/** How long removals are known after they were applied: longer than any removal takes. */
const rememberMs = 3_600_000;

type Removal = { number: number; project_id: number; ms: number; id: string; block: number };

/**
 * A condition for removals of one project and block. An event that is sent again with the same id is in a later block. The
 * keys are rows of a subquery: as a list, 20,000 of them take seven times as long.
 */
async function conditionOf(removals: readonly Removal[], turns: Turns): Promise<string> {
  const { project_id, block, ms } = removals[0]!;
  const keys = new SentRows();
  let [first, last] = [ms, ms];
  for (const { ms, id } of removals) {
    keys.add([ms, ...halvesOf(id)]);
    first = Math.min(first, ms);
    last = Math.max(last, ms);
    if (turns.isOver) await turns.next();
  }
  return `(project = ${project_id} AND block <= ${block} AND created >= ${first} AND created <= ${last}
    AND (created, id_hi, id_lo) IN (SELECT sent.1, toUInt64(sent.2), toUInt64(sent.3) FROM ${keys.sql(["Int64", "String", "String"])}))`;
}

/** Deletes in ClickHouse what was removed in PostgreSQL, which notes it in the same commit. */
export function createRemovals(servers: Servers, ranges: Pick<Ranges, "settle">, runQuery: Query) {
  /** Deletes the noted events after a number on one server. Returns the last number. */
  async function applyTo(
    clickHouse: PreparedServer,
    { id: server }: Pick<PlacedServer, "id">,
    after: number,
  ): Promise<number> {
    for (let last = after; ; ) {
      const removals = await runQuery<Removal>(
        `SELECT number, project_id, created_at AS ms, id, block FROM shipped_removals WHERE number > $1
         ORDER BY number LIMIT $2`,
        [last, stepEvents],
      );
      if (removals.length === 0) return last;
      const groups = Map.groupBy(removals, ({ project_id, block }) => `${project_id} ${block}`);
      const turns = new Turns("server");
      const conditions: string[] = [];
      for (const group of groups.values()) conditions.push(await conditionOf(group, turns));
      await clickHouse.run(
        `DELETE FROM events WHERE ${conditions.join(" OR ")}
         SETTINGS lightweight_deletes_sync = 2`,
        {},
        deleteMs,
      );
      last = removals.at(-1)!.number;
      // A range that is on its way can still bring them: `ship.ts` applies them once more when it is there.
      await runQuery("UPDATE clickhouse_servers SET removed_to = greatest(removed_to, $2) WHERE id = $1", [
        server,
        last,
      ]);
      if (removals.length < stepEvents) return last;
    }
  }

  /**
   * Deletes noted events on all servers that reads may ask. One that can't is not read from then on, if another one can.
   *
   * Throws `older-events-unavailable` if none can.
   */
  async function apply(nowMs = Date.now()): Promise<void> {
    const [noted] = await runQuery<{ last: number | null }>(
      "SELECT max(number) AS last FROM shipped_removals",
    );
    const last = noted!.last ?? 0;
    const placed = await servers.placed();
    const owing = placed.filter(({ behindSince, removedTo }) => behindSince === null && removedTo < last);
    const { failures } = await onEach(owing, (clickHouse, server) =>
      applyTo(clickHouse, server, server.removedTo),
    );
    if (failures.size === 0) return;
    const failed = [...failures.keys()].map(({ id }) => id);
    const [left] = await runQuery<{ is_done: boolean }>("SELECT leave_behind($1, $2, $3) AS is_done", [
      uuids(failed),
      last,
      nowMs,
    ]);
    if (!left!.is_done) throw [...failures.values()][0];
    await ranges.settle();
  }

  return {
    apply,
    applyTo,

    /** The ids of a project's events that are noted, but not deleted yet on all servers that reads may ask. */
    async pending(projectId: number): Promise<Set<string>> {
      const rows = await runQuery<{ id: string }>(
        `SELECT id FROM shipped_removals WHERE project_id = $1
           AND number > (SELECT coalesce(min(removed_to), 0) FROM clickhouse_servers WHERE behind_since IS NULL)`,
        [projectId],
      );
      return new Set(rows.map(({ id }) => id));
    },

    /** Forgets removals that all servers applied a while ago, and servers that have left and missed some of these. */
    async forget(nowMs: number): Promise<void> {
      await runQuery(
        `UPDATE shipped_removals SET applied_at = $1 WHERE applied_at IS NULL
           AND number <= (SELECT min(removed_to) FROM clickhouse_servers WHERE left_at IS NULL OR behind_since IS NULL)`,
        [nowMs],
      );
      await runQuery(
        `WITH forgotten AS (DELETE FROM shipped_removals WHERE applied_at < $1 RETURNING number)
         DELETE FROM clickhouse_servers WHERE left_at IS NOT NULL AND behind_since IS NOT NULL
           AND removed_to < (SELECT max(number) FROM forgotten)`,
        [nowMs - rememberMs],
      );
    },

    /** Begins to rewrite the files that still contain deleted events. A server that is away does it when it is back. */
    async rewrite(): Promise<void> {
      const placed = await servers.placed();
      const { results, failures } = await onEach(placed, rewriteOn);
      if (results.size === 0 && failures.size > 0) throw [...failures.values()][0];
    },
    rewriteOn,
  };
}

async function rewriteOn(clickHouse: PreparedServer): Promise<void> {
  await clickHouse.run("ALTER TABLE events APPLY DELETED MASK SETTINGS mutations_sync = 0", {}, rewriteMs);
}
