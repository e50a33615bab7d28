import { inReadingOrder } from "../boards/reading-order.ts";
import { tileData } from "../boards/tile-data.ts";
import { limits } from "../core/limits.ts";
import { isUnavailable, ProblemError } from "../core/problems.ts";
import { requestSignal, withDeadline } from "../scheduling/deadline.ts";
import type { Board } from "../schemas/board.ts";
import type { Tile } from "../schemas/tile.ts";
import type { TileData } from "../schemas/tile-data.ts";
import type { Store } from "../storage/store.ts";
import type { Period } from "./report-schedule.ts";

/** A tile with what it shows in the period and, of what is compared, in the one before; or why it shows nothing. */
export type ComputedTile = {
  tile: Tile;
  data: TileData | null;
  before: TileData | null;
  problem: string | null;
};

/** Tiles without a comparison: their numbers are not of the period, or they have none. */
const isCompared = (tile: Tile) =>
  !["retention", "paths", "stickiness", "lifecycle", "feed", "alerts", "value", "text"].includes(tile.type) &&
  !(tile.type === "sessions" && tile.show === "live");

/**
 * Computes a board's tiles for a report, one after the other, so that a report takes no more of the server than
 * somebody who looks at the board. A tile that can't be computed says why. Throws `overloaded`,
 * `storage-unavailable` and `older-events-unavailable`, after which it can be tried again.
 */
export async function computeTiles(
  store: Pick<Store, "events" | "control">,
  projectId: number,
  { tiles }: Pick<Board, "tiles">,
  { beforeMs, fromMs, toMs, timeZone }: Omit<Period, "every">,
): Promise<ComputedTile[]> {
  // Whoever previews a report may leave.
  const signal = requestSignal() ?? new AbortController().signal;
  const endsAt = performance.now() + limits.reportSeconds * 1_000;
  const compute = (tile: Tile, fromMs: number, toMs: number) =>
    withDeadline(
      signal,
      () =>
        tileData(tile, {
          store,
          projectId,
          range: { fromMs, toMs, timeZone, compares: false, beforeMs: fromMs },
          progress: { signal, onProgress: () => {} },
        }),
      { seconds: Math.max(0, endsAt - performance.now()) / 1_000 },
    );
  // Whoever came in the period alone can't have come back much.
  const weeksMs = toMs - limits.reportRetentionWeeks * 7 * 24 * 60 * 60 * 1_000;
  const computed: ComputedTile[] = [];
  for (const tile of inReadingOrder(tiles)) {
    try {
      const data = await compute(tile, tile.type === "retention" ? Math.min(fromMs, weeksMs) : fromMs, toMs);
      const before = isCompared(tile) ? await compute(tile, beforeMs, fromMs) : null;
      computed.push({ tile, data, before, problem: null });
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code === "overloaded" || isUnavailable(error))
        throw error;
      const problem = performance.now() >= endsAt ? "It takes too long to compute." : error.options.detail;
      computed.push({ tile, data: null, before: null, problem });
    }
  }
  return computed;
}
