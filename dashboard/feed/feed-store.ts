import type { DeletedEvents, Event } from "../../server/event/event.ts";
import { ApiError } from "../api.ts";
import { matcherOfDeleted } from "../live/deleted.ts";
import { byTime, type FeedEntry, merge, toEntry } from "./entries.ts";
import { type Filters, roughMatcherOf } from "./filters.ts";

export type FeedState = {
  status: "loading" | "ready" | "error";
  error: unknown;
  entries: readonly FeedEntry[];
  /** The number of new events that wait because the reader has scrolled down or points at the list. */
  held: number;
  /** The reader has paused the feed: new events wait until it is resumed. */
  isPaused: boolean;
  /** An unknown number of events was missed: the feed is reloaded when the reader asks for new events. */
  isStale: boolean;
  older: "idle" | "loading" | "error" | "end";
  olderError: unknown;
};

type EventPage = { events: Event[]; nextCursor?: string | null | undefined };
/** The first page. With `olderError`, there are older events that can't be read. */
type FirstPage = EventPage & { tail?: { to: string }; olderError?: unknown };
type FetchEvents = (query: Record<string, string | undefined>, signal: AbortSignal) => Promise<EventPage>;

/** Above this, the oldest entries are dropped while the reader is at the top. */
const entriesMax = 5_000;
const entriesAfterTrim = 3_000;
const heldMax = 2_000;
const highlightsPerSecondMax = 8;
/** Ids of deleted events to remember. */
const deletedMax = 10_000;

/**
 * Why new events wait: the reader has paused the feed, has scrolled down, or points at the list, whose rows must not
 * move then.
 */
type HoldReason = "paused" | "scrolled" | "pointer";

export type Feed = ReturnType<typeof createFeed>;

/**
 * The events of one feed, newest first: listed pages, with events of the stream above them, or in between if they are
 * backdated. Each event is in it once, by id.
 */
export function createFeed(filters: Filters, fetchPage: FetchEvents) {
  const mayMatch = roughMatcherOf(filters);
  let state: FeedState = {
    status: "loading",
    error: null,
    entries: [],
    held: 0,
    isPaused: false,
    isStale: false,
    older: "idle",
    olderError: null,
  };
  let ids = new Set<string>();
  /** The stream may deliver an event after another tab has reported its deletion. */
  const deletedIds = new Set<string>();
  let held: FeedEntry[] = [];
  const holdReasons = new Set<HoldReason>();
  /** The start of the next older page. */
  let tail: { to?: string; cursor?: string } = {};
  let loading = new AbortController();
  const listeners = new Set<() => void>();

  /** The events that were deleted during each fetch. The fetched page may still contain them. */
  const pendingFetches = new Set<((event: Event) => boolean)[]>();

  async function fetchWithoutDeleted(
    query: Record<string, string | undefined>,
    signal: AbortSignal,
  ): Promise<EventPage> {
    const deletedMeanwhile: ((event: Event) => boolean)[] = [];
    pendingFetches.add(deletedMeanwhile);
    try {
      const page = await fetchPage(query, signal);
      const isNotDeleted = (event: Event) => !deletedMeanwhile.some((isDeleted) => isDeleted(event));
      return { ...page, events: page.events.filter(isNotDeleted) };
    } finally {
      pendingFetches.delete(deletedMeanwhile);
    }
  }

  /** The newest events. If older ones that belong to the page can't be read, those that can. */
  async function fetchNewest(signal: AbortSignal): Promise<FirstPage> {
    try {
      return await fetchWithoutDeleted({}, signal);
    } catch (error) {
      const from = error instanceof ApiError ? error.availableFrom : undefined;
      const page = from && (await fetchWithoutDeleted({ from }, signal).catch(() => null));
      if (!page || page.events.length === 0) throw error;
      return page.nextCursor ? page : { ...page, tail: { to: from }, olderError: error };
    }
  }

  function change(part: Partial<FeedState>) {
    state = { ...state, ...part };
    for (const listener of listeners) listener();
  }

  function admit(events: readonly Event[], arrivedAt: number): FeedEntry[] {
    const entries: FeedEntry[] = [];
    for (const event of events) {
      if (ids.has(event.id)) continue;
      ids.add(event.id);
      entries.push(toEntry(event, arrivedAt));
    }
    return entries.sort(byTime);
  }

  async function reload() {
    loading.abort();
    loading = new AbortController();
    const { signal } = loading;
    const hasEntries = state.entries.length > 0;
    if (!hasEntries) change({ status: "loading", error: null });
    // Events that arrive during the fetch are newer than the page or in it, so both are merged.
    arrivedWhileFetching = [];
    isFetching = true;
    try {
      const page = await fetchNewest(signal);
      isFetching = false;
      ids = new Set(deletedIds);
      held = [];
      const listed = admit(page.events, 0);
      const { olderError = null } = page;
      tail = page.nextCursor ? { cursor: page.nextCursor } : (page.tail ?? {});
      const entries = merge(listed, admit(arrivedWhileFetching, Date.now()));
      const older = page.nextCursor ? "idle" : olderError ? "error" : "end";
      change({ status: "ready", error: null, entries, held: 0, isStale: false, older, olderError });
    } catch (error) {
      if (signal.aborted) return;
      isFetching = false;
      if (!hasEntries) return change({ status: "error", error });
      // Keep the shown events, and reload once the connection is back.
      change({ isStale: true });
    }
  }

  /** The arrival time of events to highlight; 0 if there are too many, because the whole list would flicker. */
  function highlightTime(count: number): number {
    const now = Date.now();
    if (now - arrivals.sinceMs >= 1_000) arrivals = { sinceMs: now, count: 0 };
    arrivals.count += count;
    return arrivals.count > highlightsPerSecondMax ? 0 : now;
  }

  let arrivals = { sinceMs: 0, count: 0 };
  let isFetching = false;
  let arrivedWhileFetching: Event[] = [];

  /** Adds events that arrived. Of filters for the server, those that are known to match. */
  function addArrivals(batch: readonly Event[]) {
    const wanted = batch.filter(mayMatch);
    if (wanted.length === 0) return;
    if (isFetching) {
      arrivedWhileFetching.push(...wanted);
      return;
    }
    if (state.status !== "ready") return;
    // Events older than the last listed one come with their own page, when the reader gets there.
    const last = state.older === "end" ? undefined : state.entries.at(-1);
    const fresh = admit(
      wanted.filter((event) => !last || Date.parse(event.createdAt) > last.at),
      highlightTime(wanted.length),
    );
    if (fresh.length === 0) return;
    if (holdReasons.size === 0 && !state.isStale) return change(trimmed(merge(fresh, state.entries)));
    if (state.isStale || held.length + fresh.length > heldMax) {
      for (const entry of [...held, ...fresh]) ids.delete(entry.event.id);
      held = [];
      change({ held: 0, isStale: true });
    } else {
      held = merge(fresh, held);
      change({ held: held.length });
    }
  }

  /** Drops the oldest entries. The next older page then starts from the time of the last remaining one. */
  function trimmed(entries: FeedEntry[]): Partial<FeedState> {
    if (entries.length <= entriesMax) return { entries };
    for (const dropped of entries.splice(entriesAfterTrim)) ids.delete(dropped.event.id);
    tail = { to: new Date(entries.at(-1)!.at + 1).toISOString() };
    return { entries, older: "idle" };
  }

  async function loadOlder() {
    if (state.status !== "ready" || state.older === "loading" || state.older === "end") return;
    const { signal } = loading;
    const from = tail;
    change({ older: "loading", olderError: null });
    try {
      const page = await fetchWithoutDeleted(from, signal);
      if (signal.aborted) return;
      // The feed was trimmed meanwhile, so this page is no longer adjacent to it.
      if (tail !== from) return change({ older: "idle" });
      tail = { ...from, ...(page.nextCursor && { cursor: page.nextCursor }) };
      const entries = merge(state.entries, admit(page.events, 0));
      change({ entries, older: page.nextCursor ? "idle" : "end" });
    } catch (error) {
      if (!signal.aborted) change({ older: "error", olderError: error });
    }
  }

  /** While there is a reason to hold, rows don't move. Afterwards the waiting events are shown. */
  function hold(reason: HoldReason, isOn: boolean) {
    if (holdReasons.has(reason) === isOn) return;
    if (isOn) holdReasons.add(reason);
    else holdReasons.delete(reason);
    if (holdReasons.size === 0) showNew();
  }

  function pause(isPaused: boolean) {
    change({ isPaused });
    hold("paused", isPaused);
  }

  /** Shows the waiting events, unless the feed is paused. */
  function showNew() {
    if (state.isPaused) return;
    if (state.isStale) return void reload();
    if (held.length === 0) return;
    const entries = merge(held, state.entries);
    held = [];
    change({ ...trimmed(entries), held: 0 });
  }

  /** The stream lost its position: reloads, but not while the reader is in the middle of the list. */
  function restart() {
    if (holdReasons.size === 0 || state.entries.length === 0) return void reload();
    change({ isStale: true });
  }

  /** The server is back: retries what failed. */
  function recover() {
    if (state.status === "error") void reload();
    else if (state.isStale && holdReasons.size === 0) void reload();
    else if (state.older === "error") void loadOlder();
  }

  /** Removes events that were deleted. */
  function removeDeleted(deletions: readonly DeletedEvents[]) {
    const isDeleted = matcherOfDeleted(deletions);
    for (const deletedMeanwhile of pendingFetches) deletedMeanwhile.push(isDeleted);
    arrivedWhileFetching = arrivedWhileFetching.filter((event) => !isDeleted(event));
    for (const id of deletions.flatMap((each) => ("ids" in each ? each.ids : []))) {
      ids.add(id);
      deletedIds.add(id);
    }
    for (const id of deletedIds) {
      if (deletedIds.size <= deletedMax) break;
      deletedIds.delete(id);
    }
    const isNotDeleted = ({ event }: FeedEntry) => !isDeleted(event);
    const entries = state.entries.filter(isNotDeleted);
    const stillHeld = held.filter(isNotDeleted);
    if (entries.length === state.entries.length && stillHeld.length === held.length) return;
    held = stillHeld;
    change({ entries, held: held.length });
    // All listed events are gone: load those that were further down.
    if (entries.length === 0 && state.older !== "end") void reload();
  }

  /** Removes the events that a range like "last hour" has left behind, but not while rows must not move. */
  function removeBefore(ms: number) {
    if (holdReasons.size > 0 || !state.entries.some(({ at }) => at < ms)) return;
    const entries = state.entries.filter(({ at }) => at >= ms);
    ids = new Set([...deletedIds, ...entries.map(({ event }) => event.id)]);
    change({ entries });
  }

  return {
    addArrivals,
    reload,
    loadOlder,
    hold,
    pause,
    showNew,
    restart,
    recover,
    removeDeleted,
    removeBefore,
    snapshot: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => loading.abort(),
  };
}
