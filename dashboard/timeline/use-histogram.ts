import { useEffect, useState, useSyncExternalStore } from "react";
import type { Filters } from "../feed/filters.ts";
import type { Histogram, Split } from "./histogram.ts";
import { type HistogramState, openHistogram } from "./histogram-store.ts";

type Shown = HistogramState & {
  /** The bars still belong to the previous filters. */
  isStale: boolean;
  reload: () => void;
};

type Store = ReturnType<typeof openHistogram>;
const nothing: HistogramState = { histogram: null, error: null };
const noSubscription = () => () => {};

/** The histogram of a feed. While another one loads, the last one stays. */
export function useHistogram(project: string, filters: Filters, split: Split): Shown {
  const [store, setStore] = useState<Store | null>(null);
  const [last, setLast] = useState<Histogram | null>(null);
  useEffect(() => {
    const opened = openHistogram(project, filters, split);
    setStore(opened);
    return () => {
      setLast(opened.snapshot().histogram);
      opened.close();
    };
  }, [project, filters, split]);
  const state = useSyncExternalStore(store?.subscribe ?? noSubscription, store?.snapshot ?? (() => nothing));
  const isWaiting = state.histogram === null && state.error === null;
  return {
    histogram: isWaiting ? last : state.histogram,
    error: state.error,
    isStale: isWaiting && last !== null,
    reload: () => store?.reload(),
  };
}
