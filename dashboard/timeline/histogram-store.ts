import type { Event, EventList } from "../../server/event/event.ts";
import type { Stats } from "../../server/schemas/stats.ts";
import { api } from "../api.ts";
import { zone } from "../components/zone.ts";
import { type Filters, isForServer, queryOf, roughMatcherOf, sureMatcherOf } from "../feed/filters.ts";
import { listen } from "../live/connection.ts";
import { boundsOf, timeIn, withoutTime } from "../time-range/time-range.ts";
import { bucketSizeFor, lengthOf } from "./buckets.ts";
import {
  emptyHistogram,
  type Histogram,
  histogramOf,
  type Split,
  splitValueOf,
  withEvents,
  withRest,
} from "./histogram.ts";

export type HistogramState = { histogram: Histogram | null; error: unknown };

const hourMs = 3_600_000;
const seriesMax = 8;
/** Arriving events are shown this often, deletions and new values counted this much later. */
const showEveryMs = 1_000;
const recountAfterMs = 5_000;
/**
 * Limits of the time between two counts, which is otherwise a bar's. Counting again finds backdated events, and moves
 * the end of a range.
 */
const refreshMs = { min: 60_000, max: 600_000 };
const heldMax = 10_000;

/**
 * The counts of a feed over time: fetched, then kept up to date with the events of the stream. Fetched again now and
 * then, after deletions, and when the stream was interrupted.
 */
export function openHistogram(project: string, filters: Filters, split: Split) {
  const matches = sureMatcherOf(filters);
  const mayMatch = roughMatcherOf(filters);
  let state: HistogramState = { histogram: null, error: null };
  let loading: AbortController | null = null;
  /** Events that arrived during the fetch. The server may have counted those older than the end of its range. */
  let arrivedMeanwhile: Event[] = [];
  let waiting: Event[] = [];
  let showTimer: ReturnType<typeof setTimeout> | undefined;
  let loadTimer: ReturnType<typeof setTimeout> | undefined;
  let loadsAtMs = Number.POSITIVE_INFINITY;
  const listeners = new Set<() => void>();

  function change(part: Partial<HistogramState>) {
    state = { ...state, ...part };
    for (const listener of listeners) listener();
  }

  async function load() {
    loading?.abort();
    loading = new AbortController();
    const { signal } = loading;
    clearTimeout(loadTimer);
    loadsAtMs = Number.POSITIVE_INFINITY;
    arrivedMeanwhile = [];
    try {
      const fetched = await fetchHistogram(project, filters, split, signal);
      if (signal.aborted) return;
      const uncounted = arrivedMeanwhile.filter(
        (event) => Date.parse(event.createdAt) >= fetched.countedToMs,
      );
      waiting = [];
      change({ histogram: withEvents(fetched, uncounted, split), error: null });
    } catch (error) {
      if (signal.aborted) return;
      // Keeps the bars that are shown.
      change({ error });
    }
    loading = null;
    const length = state.histogram ? lengthOf(state.histogram.size) : 0;
    loadAfter(Math.min(refreshMs.max, Math.max(refreshMs.min, length)));
  }

  function loadAfter(ms: number) {
    const atMs = Date.now() + ms;
    if (loading || atMs >= loadsAtMs) return;
    loadsAtMs = atMs;
    clearTimeout(loadTimer);
    loadTimer = setTimeout(load, ms);
  }

  function show() {
    showTimer = undefined;
    const { histogram } = state;
    if (!histogram || waiting.length === 0) return;
    if (histogram.starts.length === 0) return void load();
    const known = new Set(histogram.series.map(({ value }) => value));
    if (waiting.some((event) => !known.has(splitValueOf(event, split))) && known.size < seriesMax)
      loadAfter(recountAfterMs);
    const events = waiting;
    waiting = [];
    change({ histogram: withEvents(histogram, events, split) });
  }

  const stopListening = listen(project, {
    events(batch) {
      if (isForServer(filters) && batch.some(mayMatch)) loadAfter(recountAfterMs);
      const wanted = batch.filter(matches);
      if (wanted.length === 0) return;
      if (loading && arrivedMeanwhile.length < heldMax) arrivedMeanwhile.push(...wanted);
      waiting.push(...wanted);
      showTimer ??= setTimeout(show, showEveryMs);
    },
    deleted: () => loadAfter(recountAfterMs),
    fresh: () => void load(),
    reset: () => void load(),
    recovered: () => state.error && void load(),
  });
  void load();

  return {
    snapshot: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload: () => void load(),
    close() {
      loading?.abort();
      clearTimeout(showTimer);
      clearTimeout(loadTimer);
      stopListening();
    },
  };
}

async function fetchHistogram(
  project: string,
  filters: Filters,
  split: Split,
  signal: AbortSignal,
): Promise<Histogram> {
  const nowMs = Date.now();
  const bounds = boundsOf(timeIn(filters), nowMs);
  const toMs = Math.min(bounds.toMs ?? nowMs, nowMs);
  const fromMs = bounds.fromMs ?? (await firstEventMs(project, filters, toMs, signal));
  if (fromMs === null) return emptyHistogram(toMs);
  const size = bucketSizeFor(fromMs, toMs);
  const stats = await api<Stats>("/api/stats", {
    query: {
      project,
      ...withoutTime(filters),
      by: size.by,
      timeZone: zone(),
      from: new Date(fromMs).toISOString(),
      // Without an end, it is the server's clock that counts.
      ...(toMs < nowMs && { to: new Date(toMs).toISOString() }),
      ...(split && { split, limit: String(seriesMax + 1) }),
    },
    signal,
  });
  return histogramOf({ ...stats, series: withRest(stats.series, seriesMax) }, size);
}

/** The start of "all time": the first event, but at least an hour ago. Null without events. */
async function firstEventMs(
  project: string,
  filters: Filters,
  toMs: number,
  signal: AbortSignal,
): Promise<number | null> {
  const query = { project, ...queryOf(filters), order: "asc", limit: "1" };
  const { events } = await api<EventList>("/api/events", { query, signal });
  const [first] = events;
  return first ? Math.min(Date.parse(first.createdAt), toMs - hourMs) : null;
}
