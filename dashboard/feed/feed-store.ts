import type { Event } from "../../server/wire/event.ts";
import { byTime, type Entry, merge, toEntry } from "./entries.ts";
import { type Filters, matcherOf } from "./filters.ts";

export type FeedState = {
  status: "loading" | "ready" | "error";
  error: unknown;
  entries: readonly Entry[];
  /** New events that wait above, because the reader is further down. */
  held: number;
  older: "idle" | "loading" | "error" | "end";
  olderError: unknown;
};

type Page = { events: Event[]; nextCursor?: string | null | undefined };
type FetchPage = (query: Record<string, string | undefined>, signal: AbortSignal) => Promise<Page>;

/** Beyond this many, the oldest are let go while the reader is at the top. */
const entriesMax = 5_000;
const entriesKept = 3_000;
const heldMax = 2_000;

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
    older: "idle",
    olderError: null,
  };
  let ids = new Set<string>();
  let held: Entry[] = [];
  let holding = false;
  /** Too many are held to keep them: the feed is listed anew when the reader returns to the top. */
  let overflown = false;
  /** Where the listing goes on. */
  let tail: { to?: string; cursor?: string } = {};
  let loading = new AbortController();
  const listeners = new Set<() => void>();

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
    change({ status: state.entries.length > 0 ? "ready" : "loading", error: null });
    // What arrives while the page is on its way is newer than the page or in it: both are merged.
    ids = new Set();
    held = [];
    overflown = false;
    const early = merging;
    early.length = 0;
    fetching = true;
    try {
      const page = await fetchPage({}, signal);
      fetching = false;
      const listed = admit(page.events, 0);
      tail = page.nextCursor ? { cursor: page.nextCursor } : {};
      const entries = merge(listed, admit(early, Date.now()));
      change({ status: "ready", entries, held: 0, older: page.nextCursor ? "idle" : "end" });
    } catch (error) {
      if (signal.aborted) return;
      fetching = false;
      change({ status: "error", error });
    }
  }

  let fetching = false;
  const merging: Event[] = [];

  function take(batch: readonly Event[]) {
    const wanted = batch.filter(matches);
    if (wanted.length === 0) return;
    if (fetching) {
      merging.push(...wanted);
      return;
    }
    if (state.status !== "ready") return;
    // What is older than the last listed one comes with its own page, when the reader gets there.
    const last = state.older === "end" ? undefined : state.entries.at(-1);
    const fresh = admit(
      wanted.filter((event) => !last || Date.parse(event.createdAt) > last.at),
      wanted.length > 8 ? 0 : Date.now(),
    );
    if (fresh.length === 0) return;
    if (!holding) return change(trimmed(merge(fresh, state.entries)));
    if (overflown || held.length + fresh.length > heldMax) {
      overflown = true;
      for (const entry of [...held, ...fresh]) ids.delete(entry.event.id);
      held = [];
    } else held = merge(fresh, held);
    change({ held: state.held + fresh.length });
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
      const page = await fetchPage(from, signal);
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

  /** While the reader is further down nothing moves; back at the top all that waited is let in. */
  function hold(hold: boolean) {
    if (hold === holding) return;
    holding = hold;
    if (!hold) release();
  }

  function release() {
    if (overflown) return void reload();
    if (held.length === 0) return;
    const entries = merge(held, state.entries);
    held = [];
    change({ ...trimmed(entries), held: 0 });
  }

  return {
    take,
    reload,
    loadOlder,
    hold,
    snapshot: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => loading.abort(),
  };
}
