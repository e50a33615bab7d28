import type { MarksOf } from "../annotations/use-marks.ts";
import type { Histogram } from "./histogram.ts";

/** The marks of a histogram's time. New bars are a new time, new events in the last one are not. */
export function marksOf(project: string, { starts, endMs }: Histogram, isLive: boolean): MarksOf {
  const from = new Date(starts[0]!).toISOString();
  return {
    project,
    time: [from, isLive ? starts.at(-1) : endMs],
    bounds: () => ({ from, to: new Date(isLive ? Math.max(endMs, Date.now()) : endMs).toISOString() }),
    isLive,
  };
}
