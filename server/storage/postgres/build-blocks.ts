import type { ColumnRow } from "../analysis/columns.ts";
import {
  addedMax,
  changedFew,
  changedMax,
  changedMsMax,
  type MsRange,
  manyChangedMsMax,
  unsettledMs,
} from "../block.ts";
import { BlockBuilder, type BlockPart, type BlockRow } from "../block-builder.ts";
import type { Pause } from "../event-store.ts";
import { Steps } from "../steps.ts";
import { bigints, bytes, integers, texts } from "./arrays.ts";
import type { Query } from "./query.ts";
import { earliest } from "./scan-cursor.ts";

/** Events per block; a few more if many are in the last millisecond. Two bitmaps of this size fit on a page of 8 kB. */
export const blockEventsUsual = 30_720;
/**
 * The newest events first get small blocks, this many to a block, which are merged later: searching the newest events
 * with the index is slowest.
 */
const partsOfBlock = 8;
/** Events that one query reads. */
const stepEvents = 500;
/** A node without a step for this long is gone, and its block is started again. */
const goneSeconds = 60;

type BlockRange = MsRange & { projectId: number };

/**
 * Builds all missing blocks, newest first, and rebuilds changed ones. Of several nodes, one builds at a time.
 *
 * Invariant: everyone who stores events sees a block before the first of its events is read for it. Checked by
 * `server/storage/postgres/build-blocks.test.ts`.
 */
export function createBuildBlocks(runQuery: Query, blockEvents: number) {
  const node = crypto.randomUUID();
  const partEvents = Math.ceil(blockEvents / partsOfBlock);

  async function deleteBlock(block: number, pause: Pause): Promise<void> {
    await runQuery("SELECT empty_block($1)", [block]);
    await pause();
    await runQuery("SELECT delete_block($1)", [block]);
    await pause();
  }

  /** The newest range without a block that is ready for one, or null. */
  async function nextRange(settledMs: number): Promise<BlockRange | null> {
    // An estimate that errs on the high side: it treats every change to a block as a removal.
    const projects = await runQuery<{ projectId: number; newestMs: number | null }>(
      `SELECT project_id AS "projectId", newest_ms AS "newestMs"
       FROM (SELECT project_id, sum(events) AS events FROM channels GROUP BY 1) AS stored
       LEFT JOIN (SELECT project_id, sum(events - changed) AS covered, max(to_ms) AS newest_ms FROM blocks GROUP BY 1) AS known
         USING (project_id)
       WHERE events - coalesce(covered, 0) >= CASE WHEN newest_ms IS NULL THEN $1::integer ELSE $2::integer END
       ORDER BY project_id`,
      [blockEvents, partEvents],
    );
    for (const { projectId, newestMs } of projects) {
      if (newestMs === null) {
        const range = await downward({ projectId, fromMs: earliest, toMs: settledMs });
        if (range) return range;
        continue;
      }
      const range = { projectId, fromMs: newestMs, toMs: settledMs };
      const last = await nth(range, "ASC", blockEvents);
      if (last !== null) return { ...range, toMs: last + 1 };
      if ((await nth(range, "ASC", partEvents)) !== null) return range;
    }
    const [gap] = await runQuery<BlockRange>(
      `SELECT project_id AS "projectId", before_ms AS "fromMs", from_ms AS "toMs" FROM (
         SELECT project_id, from_ms, coalesce(lag(to_ms) OVER (PARTITION BY project_id ORDER BY from_ms), $1) AS before_ms FROM blocks) AS gaps
       CROSS JOIN LATERAL (
         SELECT created_at FROM events
         WHERE events.project_id = gaps.project_id AND created_at >= before_ms AND created_at < from_ms
         ORDER BY created_at DESC LIMIT 1) AS newest
       WHERE before_ms < from_ms
       ORDER BY from_ms DESC LIMIT 1`,
      [earliest],
    );
    return gap ? downward(gap) : null;
  }

  /** The newest small blocks of a project, once there are enough of them for a whole block. */
  async function parts(): Promise<number[]> {
    const [found] = await runQuery<{ ids: number[] }>(
      `SELECT json_agg(id) AS ids FROM (
         SELECT id, project_id, events,
           bool_and(events < $1::integer / 2) OVER (PARTITION BY project_id ORDER BY from_ms DESC) AS is_part
         FROM blocks) AS newest
       WHERE is_part GROUP BY project_id HAVING count(*) > 1 AND sum(events) >= $1 LIMIT 1`,
      [blockEvents],
    );
    return found?.ids ?? [];
  }

  /** The range's last events, enough for a block, or all of it if that is not much more; null if it has none. */
  async function downward(range: BlockRange): Promise<BlockRange | null> {
    if ((await nth(range, "DESC", 1)) === null) return null;
    if ((await nth(range, "DESC", Math.ceil(blockEvents * 1.5))) === null) return range;
    return { ...range, fromMs: (await nth(range, "DESC", blockEvents))! };
  }

  /** The millisecond of the nth event from one end of a range; null if there are fewer. */
  async function nth(
    { projectId, fromMs, toMs }: BlockRange,
    direction: "ASC" | "DESC",
    n: number,
  ): Promise<number | null> {
    const [row] = await runQuery<{ ms: number }>(
      `SELECT created_at AS ms FROM events WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
       ORDER BY created_at ${direction} OFFSET $4 LIMIT 1`,
      [projectId, fromMs, toMs, n - 1],
    );
    return row?.ms ?? null;
  }

  /** Returns false if another node is building too, or the block changes too quickly. It is tried again later. */
  async function buildBlock(
    { projectId, fromMs, toMs }: BlockRange,
    nowMs: number,
    pause: Pause,
  ): Promise<boolean> {
    const [begun] = await runQuery<{ block: number | null }>(
      "SELECT begin_block($1, $2, $3, $4, $5) AS block",
      [projectId, fromMs, toMs, node, nowMs],
    );
    const block = begun!.block;
    if (block === null) return false;
    const builder = new BlockBuilder();
    const steps = new Steps();
    let isOurs = true;
    for (let after: [ms: number, id: string] = [fromMs - 1, lastId]; isOurs; ) {
      const rows = await runQuery<{ ms: number; id: string; body: string }>(
        `SELECT created_at AS ms, id, body FROM events
         WHERE project_id = $1 AND (created_at, id) > ($2::bigint, $3::uuid) AND created_at >= $2 AND created_at < $4
         ORDER BY created_at, id LIMIT $5`,
        [projectId, ...after, toMs, stepEvents],
      );
      steps.begin();
      for (const { ms, body } of rows) {
        builder.add([ms, 0, projectId, body] satisfies BlockRow);
        if (!steps.isOver) continue;
        await pause();
        steps.begin();
      }
      const last = rows.at(-1);
      if (!last || rows.length < stepEvents) break;
      after = [last.ms, last.id];
      if (builder.events % (stepEvents * stepsPerHeartbeat) === 0) isOurs = await storePart(block, emptyPart);
      await pause();
    }
    for (const part of builder.parts()) {
      if (part && isOurs) isOurs = await storePart(block, part);
      await pause();
    }
    if (isOurs) {
      await runQuery("UPDATE blocks SET events = $3, builder = NULL WHERE id = $1 AND builder = $2", [
        block,
        node,
        builder.events,
      ]);
    }
    await pause();
    return isOurs;
  }

  async function storePart(block: number, { timestamps, tokens, columns }: BlockPart): Promise<boolean> {
    if (columns.length > 0) return storeColumns(block, columns);
    const [kept] = await runQuery<{ isOurs: boolean }>(
      `SELECT add_to_block($1, $2, $3, $4, $5, $6, $7) AS "isOurs"`,
      [
        block,
        node,
        integers(timestamps.map(({ first }) => first)),
        bigints(timestamps.map(({ ms }) => ms)),
        bytes(timestamps.map(({ gaps }) => gaps)),
        texts(tokens.map(({ token }) => token)),
        bytes(tokens.map(({ ordinals }) => ordinals)),
      ],
    );
    return kept!.isOurs;
  }

  async function storeColumns(block: number, columns: ColumnRow[]): Promise<boolean> {
    const rows = await runQuery(
      `WITH held AS (
         UPDATE blocks SET stepped_at = now() WHERE id = $1 AND builder = $2 AND changed <= $3 AND added <= $4 RETURNING id
       ), stored AS (
         INSERT INTO block_columns (block, name, bytes)
           SELECT held.id, made.name, made.bytes FROM held, unnest($5::text[], $6::bytea[]) AS made (name, bytes)
           ON CONFLICT DO NOTHING
       ) SELECT id FROM held`,
      [
        block,
        node,
        changedMax,
        addedMax,
        texts(columns.map(({ name }) => name)),
        bytes(columns.map((row) => row.bytes)),
      ],
    );
    return rows.length > 0;
  }

  return async function buildBlocks(pause: Pause, nowMs: number): Promise<void> {
    for (;;) {
      const [unusable] = await runQuery<{ id: number; isBeingBuilt: boolean }>(
        `SELECT id, coalesce(builder <> $2 AND stepped_at > now() - make_interval(secs => $3), false) AS "isBeingBuilt" FROM blocks
         WHERE events IS NULL OR changed > $1 OR added > $4 ORDER BY 2 DESC, from_ms DESC LIMIT 1`,
        [changedMax, node, goneSeconds, addedMax],
      );
      if (unusable?.isBeingBuilt) return;
      if (unusable) {
        await deleteBlock(unusable.id, pause);
        continue;
      }
      const range = await nextRange(nowMs - unsettledMs);
      if (range) {
        if (!(await buildBlock(range, nowMs, pause))) return;
        continue;
      }
      const mergedParts = await parts();
      for (const id of mergedParts) await deleteBlock(id, pause);
      if (mergedParts.length > 0) continue;
      const [outdated] = await runQuery<{ id: number }>(
        `SELECT id FROM blocks
         WHERE (changed > 0 AND begun_at < $1) OR (changed > $2 AND begun_at < $3)
           OR (events > 0 AND NOT EXISTS (SELECT FROM block_columns WHERE block = blocks.id))
         ORDER BY from_ms DESC LIMIT 1`,
        [nowMs - changedMsMax, changedFew, nowMs - manyChangedMsMax],
      );
      if (!outdated) return;
      await deleteBlock(outdated.id, pause);
    }
  };
}

/** Sorts after all ids. */
const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const emptyPart: BlockPart = { timestamps: [], tokens: [], columns: [] };
/** Reading steps between updates of `stepped_at`, which tells other nodes that this one is alive. */
const stepsPerHeartbeat = 20;
