import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/wire/notification.ts";
import { createHub, type FromTab, type Place, pingMs, type ToTab } from "./hub.ts";
import type { StreamStatus } from "./stream.ts";

// This tab's connection to the event stream, which it shares with the other tabs of the browser.

export type LiveListener = {
  events?: (batch: readonly Event[]) => void;
  /** Events that are gone, whoever deleted them. */
  deleted?: (batch: readonly DeletedEvents[]) => void;
  notifications?: (batch: readonly Notification[], unread: number) => void;
  /** The stream has started: list what happened before. */
  fresh?: () => void;
  /** Too much was missed: list again. */
  reset?: () => void;
  /** The stream works again after an interruption. */
  recovered?: () => void;
  rejected?: () => void;
};

export type LiveStatus = StreamStatus | "paused";

/** A hidden tab lets go of the stream after this long. */
const hiddenMaxMs = 5_000;
/** A worker that answers none of so many pings hangs. Counted, not timed: a computer may have slept between two. */
const unansweredMax = 3;

/** With the project that each listens to. */
const listeners = new Map<LiveListener, string>();
const statusListeners = new Set<() => void>();
let project = "";
let status: LiveStatus = "connecting";
let wasInterrupted = false;
/** Null until the stream has started. */
let place: Place | null = null;
let send: ((message: FromTab) => void) | undefined;
let stopWorker: (() => void) | undefined;
let unanswered = 0;
let isAway = false;
let hiddenTimer: ReturnType<typeof setTimeout> | undefined;

/** Follows a project's events instead of those of the last one; an empty text follows none. */
export function follow(next: string): void {
  if (next === project) return;
  project = next;
  place = null;
  wasInterrupted = false;
  if (project === "") leave();
  else setStatus(isAway ? "paused" : "connecting");
  ping();
}

/** Listens to a project, while it is the one that is followed. */
export function listen(to: string, listener: LiveListener): () => void {
  listeners.set(listener, to);
  return () => listeners.delete(listener);
}

/** Whether every event of the project will be delivered from now on. */
export function isFollowing(asked: string): boolean {
  return asked === project && place !== null;
}

function* currentListeners() {
  for (const [listener, to] of listeners) if (to === project) yield listener;
}

export function retryNow(): void {
  send?.({ type: "retry" });
}

export function subscribeStatus(listener: () => void): () => void {
  statusListeners.add(listener);
  return () => statusListeners.delete(listener);
}

export const currentStatus = (): LiveStatus => status;

function setStatus(next: LiveStatus) {
  if (next === status) return;
  status = next;
  for (const listener of statusListeners) listener();
  if (next === "paused" || next === "reconnecting") wasInterrupted = true;
  if (next !== "live" || !wasInterrupted) return;
  wasInterrupted = false;
  for (const listener of currentListeners()) listener.recovered?.();
}

function receive(message: ToTab) {
  unanswered = 0;
  if (isAway || project === "") return;
  if ("place" in message) place = message.place;
  if (message.type === "status") return setStatus(message.status);
  for (const listener of currentListeners()) {
    if (message.type === "events") listener.events?.(message.events);
    else if (message.type === "deleted") listener.deleted?.(message.deleted);
    else if (message.type === "notifications")
      listener.notifications?.(message.notifications, message.unread);
    else listener[message.type]?.();
  }
}

function connect(): (message: FromTab) => void {
  try {
    const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), { type: "module" });
    worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => receive(data);
    worker.onerror = standAlone;
    stopWorker = () => {
      worker.port.postMessage({ type: "away" } satisfies FromTab);
      worker.port.close();
    };
    return (message) => worker.port.postMessage(message);
  } catch {
    // No shared workers, as in Chrome on Android: this tab has a stream of its own.
    return createHub()(receive);
  }
}

/** The worker did not start, or hangs: this tab goes on without it. */
function standAlone() {
  if (!stopWorker) return;
  stopWorker();
  stopWorker = undefined;
  send = createHub()(receive);
  if (place) {
    place = null;
    for (const listener of currentListeners()) listener.reset?.();
  }
  ping();
}

function ping() {
  if (project === "" || isAway) return;
  if (stopWorker && unanswered >= unansweredMax) return standAlone();
  unanswered++;
  send ??= connect();
  send({ type: "here", project, place });
}
setInterval(ping, pingMs);

function leave() {
  send?.({ type: "away" });
  setStatus("paused");
}

function onVisibility() {
  clearTimeout(hiddenTimer);
  if (document.visibilityState === "visible") comeBack();
  else hiddenTimer = setTimeout(goAway, hiddenMaxMs);
}

function goAway() {
  if (isAway) return;
  isAway = true;
  leave();
}

function comeBack() {
  if (!isAway) return;
  isAway = false;
  unanswered = 0;
  ping();
}

// A tab may be opened in the background.
onVisibility();
document.addEventListener("visibilitychange", onVisibility);
addEventListener("pagehide", goAway);
addEventListener("pageshow", comeBack);
addEventListener("online", retryNow);
