import { useEffect } from "react";
import { listen } from "../live/connection.ts";
import { queries } from "../queries.ts";

/** Tiles are computed again at most this often while events arrive. */
const refreshMs = 5_000;

/** Computes a board's tiles again when events arrive or are deleted. */
export function useLiveTiles(project: string): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    function onChange() {
      timer ??= setTimeout(() => {
        timer = undefined;
        // Not those that are being computed: a slow tile would never be done.
        void queries.invalidateQueries({ queryKey: ["tile", project] }, { cancelRefetch: false });
      }, refreshMs);
    }
    const stop = listen(project, { events: onChange, deleted: onChange, reset: onChange });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [project]);
}
