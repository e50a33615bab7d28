import { isoOf } from "../core/iso.ts";
import type { Progress } from "../http/progress.ts";
import type { Store } from "../storage/store.ts";
import type { Range } from "./range.ts";

/** What a tile is computed from. */
export type Context = {
  store: Pick<Store, "events" | "control">;
  projectId: number;
  range: Range;
  progress: Progress;
};

/** The range of a result. */
export function timesOf({ fromMs, toMs, timeZone }: Range) {
  return { from: isoOf(fromMs), to: isoOf(toMs), timeZone };
}
