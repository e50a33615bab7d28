import { changedMax, changedMsMax, unsettledMs } from "../block.ts";
import { BlockBuilder, type BlockPart, type BlockRow } from "../block-builder.ts";
import type { Pause } from "../store.ts";
import { bigints, bytes, integers, texts } from "./arrays.ts";
import type { Query } from "./query.ts";
import { earliest, type MsRange } from "./scan-cursor.ts";

/** Events of a block; a few more where many happened in the same millisecond. The bits of a common token fit twice on a page of 8 kB. */
export const blockEventsUsual = 30_720;
/** The newest events are digested in so many parts of a block, which become one in the end: in the index they take the longest to be found. */
const partsOfBlock = 8;
/** Events that a step reads: a few milliseconds of this process's time. */
const readEvents = 500;
/** A node that did no step for so long is gone, and what it was at is begun anew. */
const goneSeconds = 60;

type BlockRange = MsRange & { projectId: number };

/** Makes the function that digests blocks: the newest first, until all is done that there is to do. Of several nodes one is at it. */
export function createBuildBlocks(ask: Query, blockEvents: number) {
  const maker = crypto.randomUUID();
  const partEvents = Math.ceil(blockEvents / partsOfBlock);

  async function retire(block: number, pause: Pause): Promise<void> {
    await ask("SELECT empty_block($1)", [block]);
    await pause();
    await ask("SELECT retire_block($1)", [block]);
    await pause();
  }

  /** The newest range that waits to be digested, or null. */
  async function nextRange(settledMs: number): Promise<BlockRange | null> {
    // An estimate: what came late is in a block, and what went is not; rather too many are looked for than too few.
    const projects = await ask<{ projectId: number; newestMs: number | null }>(
      `SELECT project_id AS "projectId", newest_ms AS "newestMs"
       FROM (SELECT project_id, sum(events) AS events FROM channels GROUP BY 1) AS stored
       LEFT JOIN (SELECT project_id, sum(events - changed) AS digested, max(to_ms) AS newest_ms FROM blocks GROUP BY 1) AS known
         USING (project_id)
       WHERE events - coalesce(digested, 0) >= CASE WHEN newest_ms IS NULL THEN $1::integer ELSE $2::integer END
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
    const [gap] = await ask<BlockRange>(
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

  /** The newest blocks of a project that are parts, as soon as there are enough of them for a whole one. */
  async function parts(): Promise<number[]> {
    const [found] = await ask<{ ids: number[] }>(
      `SELECT json_agg(id) AS ids FROM (
         SELECT id, project_id, events,
           bool_and(events < $1::integer / 2) OVER (PARTITION BY project_id ORDER BY from_ms DESC) AS is_part
         FROM blocks) AS newest
       WHERE is_part GROUP BY project_id HAVING count(*) > 1 AND sum(events) >= $1 LIMIT 1`,
      [blockEvents],
    );
    return found?.ids ?? [];
  }

  /** The last events of a range, or all of it where there are not many more than a block's; null where there are none. */
  async function downward(range: BlockRange): Promise<BlockRange | null> {
    if ((await nth(range, "DESC", 1)) === null) return null;
    if ((await nth(range, "DESC", Math.ceil(blockEvents * 1.5))) === null) return range;
    return { ...range, fromMs: (await nth(range, "DESC", blockEvents))! };
  }

  /** When the nth event from an end of a range happened; null where there are not so many. */
  async function nth(
    { projectId, fromMs, toMs }: BlockRange,
    direction: "ASC" | "DESC",
    n: number,
  ): Promise<number | null> {
    const [row] = await ask<{ ms: number }>(
      `SELECT created_at AS ms FROM events WHERE project_id = $1 AND created_at >= $2 AND created_at < $3
       ORDER BY created_at ${direction} OFFSET $4 LIMIT 1`,
      [projectId, fromMs, toMs, n - 1],
    );
    return row?.ms ?? null;
  }

  /** Gives false where another node digests as well, or where events come into the block too quickly: to be tried again later. */
  async function digest(
    { projectId, fromMs, toMs }: BlockRange,
    nowMs: number,
    pause: Pause,
  ): Promise<boolean> {
    const [begun] = await ask<{ block: number | null }>("SELECT begin_block($1, $2, $3, $4, $5) AS block", [
      projectId,
      fromMs,
      toMs,
      maker,
      nowMs,
    ]);
    const block = begun!.block;
    if (block === null) return false;
    const draft = new BlockBuilder();
    let isOurs = true;
    for (let after: [ms: number, id: string] = [fromMs - 1, lastId]; isOurs; ) {
      const rows = await ask<{ ms: number; id: string; body: string }>(
        `SELECT created_at AS ms, id, body FROM events
         WHERE project_id = $1 AND (created_at, id) > ($2::bigint, $3::uuid) AND created_at >= $2 AND created_at < $4
         ORDER BY created_at, id LIMIT $5`,
        [projectId, ...after, toMs, readEvents],
      );
      for (const { ms, body } of rows) draft.add([ms, 0, projectId, body] satisfies BlockRow);
      const last = rows.at(-1);
      if (!last || rows.length < readEvents) break;
      after = [last.ms, last.id];
      if (draft.events % (readEvents * stepsOfKeeping) === 0) isOurs = await keep(block, nothing);
      await pause();
    }
    for (const part of draft.parts()) {
      if (part && isOurs) isOurs = await keep(block, part);
      await pause();
    }
    if (isOurs) {
      await ask("UPDATE blocks SET events = $3, maker = NULL WHERE id = $1 AND maker = $2", [
        block,
        maker,
        draft.events,
      ]);
    }
    await pause();
    return isOurs;
  }

  async function keep(block: number, { moments, tokens }: BlockPart): Promise<boolean> {
    const [kept] = await ask<{ isOurs: boolean }>(
      `SELECT keep_digest($1, $2, $3, $4, $5, $6, $7) AS "isOurs"`,
      [
        block,
        maker,
        integers(moments.map(({ first }) => first)),
        bigints(moments.map(({ ms }) => ms)),
        bytes(moments.map(({ gaps }) => gaps)),
        texts(tokens.map(({ token }) => token)),
        bytes(tokens.map(({ ordinals }) => ordinals)),
      ],
    );
    return kept!.isOurs;
  }

  return async function digestAll(pause: Pause, nowMs: number): Promise<void> {
    for (;;) {
      const [useless] = await ask<{ id: number; isBeingMade: boolean }>(
        `SELECT id, coalesce(maker <> $2 AND stepped_at > now() - make_interval(secs => $3), false) AS "isBeingMade" FROM blocks
         WHERE events IS NULL OR changed > $1 ORDER BY 2 DESC, from_ms DESC LIMIT 1`,
        [changedMax, maker, goneSeconds],
      );
      if (useless?.isBeingMade) return;
      if (useless) {
        await retire(useless.id, pause);
        continue;
      }
      const range = await nextRange(nowMs - unsettledMs);
      if (range) {
        if (!(await digest(range, nowMs, pause))) return;
        continue;
      }
      const joined = await parts();
      for (const id of joined) await retire(id, pause);
      if (joined.length > 0) continue;
      const [changed] = await ask<{ id: number }>(
        "SELECT id FROM blocks WHERE changed > 0 AND begun_at < $1 ORDER BY from_ms DESC LIMIT 1",
        [nowMs - changedMsMax],
      );
      if (!changed) return;
      await retire(changed.id, pause);
    }
  };
}

/** Behind all ids of a millisecond. */
const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const nothing: BlockPart = { moments: [], tokens: [] };
/** Steps of reading after which other nodes are told that this one is still at it. */
const stepsOfKeeping = 20;
