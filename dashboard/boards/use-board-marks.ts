import { type ShownMarks, useMarks } from "../annotations/use-marks.ts";
import { useTileSource } from "./boards.ts";
import { type BoardRange, boundsOf, isLive } from "./ranges.ts";

/** The marks of a board's charts, which all have the same time. None on public boards. */
export function useBoardMarks(range: BoardRange): ShownMarks {
  const { project, board } = useTileSource();
  return useMarks(
    project === null
      ? null
      : {
          ...{ project, board, time: range, isLive: isLive(range) },
          bounds: () => {
            const { from, to } = boundsOf(range);
            return { from: from.toISOString(), to: to.toISOString() };
          },
        },
  );
}
