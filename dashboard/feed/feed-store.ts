import type { DeletedEvents, Event } from "../../server/event/event.ts";
import { matcherOfDeleted } from "../live/deleted.ts";
import { byTime, type Entry, merge, toEntry } from "./entries.ts";
import { type Filters, matcherOf } from "./filters.ts";

export type FeedState = {
  status: "loading" | "ready" | "error";
  error: unknown;
  entries: readonly Entry[];
  /** New events that wait above, because the reader is further down or points at the list. */
  held: number;
  /** Events were missed that can't be counted: the feed is listed again when the reader asks for what is new. */
  isStale: boolean;
  older: "idle" | "loading" | "error" | "end";
  olderError: unknown;
};

type Page = { events: Event[]; nextCursor?: string | null | undefined };
type FetchPage = (query: Record<string, string | undefined>, signal: AbortSignal) => Promise<Page>;

/** Beyond this many, the oldest are let go while the reader is at the top. */
const entriesMax = 5_000;
const entriesKept = 3_000;
const heldMax = 2_000;
const litPerSecondMax = 8;
/** Ids of deleted events that are remembered. */
const deletedMax = 10_000;

/** The reader has scrolled down, or the pointer is over the list, where a row must not move under a click. */
type HoldReason = "scrolled" | "pointer";

export type Feed = ReturnType<typeof createFeed>;

/**
 * The events of one feed, newest first: pages of the listing below, what the stream brings above (or in between, for
 * an event may be backdated). Each event is in it once, by id.
 */
export function createFeed(filters: Filters, fetchPage: FetchPage) {
  const matches = matcherOf(filters);
  let state: FeedState = {
    status: "loading",
    error: null,
    entries: [],
    held: 0,
    isStale: false,
    older: "idle",
    olderError: null,
  };
  let ids = new Set<string>();
  /** The stream may tell of an event after another tab has told of its deletion. */
  const deleted = new Set<string>();
  let held: Entry[] = [];
  const holding = new Set<HoldReason>();
  /** Where the listing goes on. */
  let tail: { to?: string; cursor?: string } = {};
  let loading = new AbortController();
  const listeners = new Set<() => void>();

  /** Pages that are on their way, each with what was deleted meanwhile: the page may still hold it. */
  const underWay = new Set<((event: Event) => boolean)[]>();

  async function fetchLeft(query: Record<string, string | undefined>, signal: AbortSignal): Promise<Page> {
    const meanwhile: ((event: Event) => boolean)[] = [];
    underWay.add(meanwhile);
    try {
      const page = await fetchPage(query, signal);
      const isLeft = (event: Event) => !meanwhile.some((isDeleted) => isDeleted(event));
      return { ...page, events: page.events.filter(isLeft) };
    } finally {
      underWay.delete(meanwhile);
    }
  }

  function change(part: Partial<FeedState>) {
    state = { ...state, ...part };
    for (const listener of listeners) listener();
  }

  function admit(events: readonly Event[], arrivedAt: number): Entry[] {
    const entries: Entry[] = [];
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
    // What arrives while the page is on its way is newer than the page or in it: both are merged.
    early = [];
    isFetching = true;
    try {
      const page = await fetchLeft({}, signal);
      isFetching = false;
      ids = new Set(deleted);
      held = [];
      const listed = admit(page.events, 0);
      tail = page.nextCursor ? { cursor: page.nextCursor } : {};
      const entries = merge(listed, admit(early, Date.now()));
      const older = page.nextCursor ? "idle" : "end";
      change({ status: "ready", error: null, entries, held: 0, isStale: false, older, olderError: null });
    } catch (error) {
      if (signal.aborted) return;
      isFetching = false;
      if (!hasEntries) return change({ status: "error", error });
      // What is shown stays, and is listed again when the connection is back.
      change({ isStale: true });
    }
  }

  /** When events arrived that are to light up; 0 for those that are too many, as the whole list would flicker. */
  function arrivalOf(count: number): number {
    const now = Date.now();
    if (now - arrivals.sinceMs >= 1_000) arrivals = { sinceMs: now, count: 0 };
    arrivals.count += count;
    return arrivals.count > litPerSecondMax ? 0 : now;
  }

  let arrivals = { sinceMs: 0, count: 0 };
  let isFetching = false;
  let early: Event[] = [];

  function take(batch: readonly Event[]) {
    const wanted = batch.filter(matches);
    if (wanted.length === 0) return;
    if (isFetching) {
      early.push(...wanted);
      return;
    }
    if (state.status !== "ready") return;
    // What is older than the last listed one comes with its own page, when the reader gets there.
    const last = state.older === "end" ? undefined : state.entries.at(-1);
    const fresh = admit(
      wanted.filter((event) => !last || Date.parse(event.createdAt) > last.at),
      arrivalOf(wanted.length),
    );
    if (fresh.length === 0) return;
    if (holding.size === 0 && !state.isStale) return change(trimmed(merge(fresh, state.entries)));
    if (state.isStale || held.length + fresh.length > heldMax) {
      for (const entry of [...held, ...fresh]) ids.delete(entry.event.id);
      held = [];
      change({ held: 0, isStale: true });
    } else {
      held = merge(fresh, held);
      change({ held: held.length });
    }
  }

  /** Lets the oldest go. The listing then goes on from the last one that is kept, found by its time. */
  function trimmed(entries: Entry[]): Partial<FeedState> {
    if (entries.length <= entriesMax) return { entries };
    for (const gone of entries.splice(entriesKept)) ids.delete(gone.event.id);
    tail = { to: new Date(entries.at(-1)!.at + 1).toISOString() };
    return { entries, older: "idle" };
  }

  async function loadOlder() {
    if (state.status !== "ready" || state.older === "loading" || state.older === "end") return;
    const { signal } = loading;
    const from = tail;
    change({ older: "loading", olderError: null });
    try {
      const page = await fetchLeft(from, signal);
      if (signal.aborted) return;
      // The feed was trimmed meanwhile: this page does not join it any more.
      if (tail !== from) return change({ older: "idle" });
      tail = { ...from, ...(page.nextCursor && { cursor: page.nextCursor }) };
      const entries = merge(state.entries, admit(page.events, 0));
      change({ entries, older: page.nextCursor ? "idle" : "end" });
    } catch (error) {
      if (!signal.aborted) change({ older: "error", olderError: error });
    }
  }

  /** While there is a reason to hold nothing moves; after that all that waited is let in. */
  function hold(reason: HoldReason, isOn: boolean) {
    if (holding.has(reason) === isOn) return;
    if (isOn) holding.add(reason);
    else holding.delete(reason);
    if (holding.size === 0) showNew();
  }

  /** Lets in what waits. */
  function showNew() {
    if (state.isStale) return void reload();
    if (held.length === 0) return;
    const entries = merge(held, state.entries);
    held = [];
    change({ ...trimmed(entries), held: 0 });
  }

  /** The stream lost its place: lists again, but never under a reader who is in the middle of the list. */
  function restart() {
    if (holding.size === 0 || state.entries.length === 0) return void reload();
    change({ isStale: true });
  }

  /** The server is back: tries again what failed. */
  function recover() {
    if (state.status === "error") void reload();
    else if (state.isStale && holding.size === 0) void reload();
    else if (state.older === "error") void loadOlder();
  }

  /** Lets go of events that were deleted. */
  function drop(gone: readonly DeletedEvents[]) {
    const isDeleted = matcherOfDeleted(gone);
    for (const meanwhile of underWay) meanwhile.push(isDeleted);
    early = early.filter((event) => !isDeleted(event));
    for (const id of gone.flatMap((each) => ("ids" in each ? each.ids : []))) {
      ids.add(id);
      deleted.add(id);
    }
    for (const id of deleted) {
      if (deleted.size <= deletedMax) break;
      deleted.delete(id);
    }
    const isLeft = ({ event }: Entry) => !isDeleted(event);
    const entries = state.entries.filter(isLeft);
    const stillHeld = held.filter(isLeft);
    if (entries.length === state.entries.length && stillHeld.length === held.length) return;
    held = stillHeld;
    change({ entries, held: held.length });
    // Nothing is left of what was listed; what was further down is listed in its place.
    if (entries.length === 0 && state.older !== "end") void reload();
  }

  return {
    take,
    reload,
    loadOlder,
    hold,
    showNew,
    restart,
    recover,
    drop,
    snapshot: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => loading.abort(),
  };
}
