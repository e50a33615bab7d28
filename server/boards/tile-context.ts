import { isoOf } from "../core/iso.ts";
import { type Progress, stepOf } from "../http/progress.ts";
import type { Store } from "../storage/store.ts";
import type { Range } from "./range.ts";

/** The parts from which a tile is computed. */
export type Context = {
  store: Pick<Store, "events" | "control">;
  projectId: number;
  range: Range;
  progress: Progress;
};

/** The range of a result. */
export function timesOf({ fromMs, toMs, timeZone }: Pick<Range, "fromMs" | "toMs" | "timeZone">) {
  return { from: isoOf(fromMs), to: isoOf(toMs), timeZone };
}

/** The progress of the range itself, and of the one before if they are compared. */
export function stepsOf(progress: Progress, { compares }: Range): [Progress, Progress] {
  const end = compares ? 0.5 : 1;
  return [stepOf(progress, 0, end), stepOf(progress, end, 1)];
}
