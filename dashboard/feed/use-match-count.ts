import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { EventCount } from "../../server/schemas/event-count.ts";
import { api } from "../api.ts";
import { listen } from "../live/connection.ts";
import { type Filters, queryOf, roughMatcherOf, sureMatcherOf } from "./filters.ts";

/** Events that arrive are added at once, and the exact number is asked for after this long, or after longer counts. */
const recountMs = 3_000;
/** How much longer than a count the pause before the next one is. */
const restFactor = 20;

/** The number of events that match the filters, kept up to date. It is counted once `isEnabled`. */
export function useMatchCount(project: string, filters: Filters, isEnabled: boolean): number | undefined {
  const client = useQueryClient();
  const key = JSON.stringify(filters);
  const queryKey = useMemo(() => ["event-count", project, key], [project, key]);
  const { data } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const startMs = performance.now();
      const query = { project, ...queryOf(JSON.parse(key) as Filters) };
      const { count } = await api<EventCount>("/api/events/count", { query, signal });
      return { count, tookMs: performance.now() - startMs };
    },
    enabled: isEnabled,
    staleTime: 0,
    gcTime: 60_000,
    retry: false,
    refetchOnWindowFocus: false,
  });

  useEffect(() => {
    if (!isEnabled) return;
    const matches = sureMatcherOf(JSON.parse(key) as Filters);
    const mayMatch = roughMatcherOf(JSON.parse(key) as Filters);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const known = () => client.getQueryData<{ count: number; tookMs: number }>(queryKey);
    function recountLater() {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          // A count that is in progress may have missed what arrived meanwhile.
          if (client.isFetching({ queryKey }) > 0) recountLater();
          else void client.invalidateQueries({ queryKey });
        },
        Math.max(recountMs, restFactor * (known()?.tookMs ?? 0)),
      );
    }
    const stop = listen(project, {
      events(batch) {
        if (!batch.some(mayMatch)) return;
        const arrived = batch.filter(matches).length;
        const current = known();
        if (current && arrived > 0 && client.isFetching({ queryKey }) === 0)
          client.setQueryData(queryKey, { ...current, count: current.count + arrived });
        recountLater();
      },
      deleted: recountLater,
      fresh: recountLater,
      reset: recountLater,
      recovered: recountLater,
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [client, project, key, queryKey, isEnabled]);

  return data?.count;
}
