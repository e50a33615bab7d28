import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/schemas/notification.ts";
import type { SeenMessage } from "../../server/schemas/view.ts";
import { createHub, type FromTab, type LogPosition, pingMs, type ToTab } from "./hub.ts";
import type { StreamStatus } from "./stream.ts";

// This tab's connection to the event stream, which it shares with the other tabs of the browser.

export type LiveListener = {
  events?: (batch: readonly Event[]) => void;
  /** Events that were deleted, by anyone. */
  deleted?: (batch: readonly DeletedEvents[]) => void;
  notifications?: (batch: readonly Notification[], unread: number) => void;
  /** The account has read something, in any of its browsers. */
  seen?: (message: SeenMessage) => void;
  notificationsRead?: (unread: number) => void;
  /** The stream has started: load what happened before. */
  fresh?: () => void;
  /** Too much was missed: reload. */
  reset?: () => void;
  /** The stream works again after an interruption. */
  recovered?: () => void;
  rejected?: () => void;
};

export type LiveStatus = StreamStatus | "paused";

/** A hidden tab leaves the stream after this long. */
const hiddenMaxMs = 5_000;
/** A worker that leaves this many pings unanswered hangs. Not timed, because the computer may have slept in between. */
const unansweredMax = 3;

/** Each listener with its project. */
const listeners = new Map<LiveListener, string>();
const statusListeners = new Set<() => void>();
let project = "";
let status: LiveStatus = "connecting";
let wasInterrupted = false;
/** Null until the stream has started. */
let position: LogPosition | null = null;
let send: ((message: FromTab) => void) | undefined;
let stopWorker: (() => void) | undefined;
let unanswered = 0;
let isAway = false;
let hiddenTimer: ReturnType<typeof setTimeout> | undefined;

/** Switches to a project's events; an empty string follows none. */
export function follow(next: string): void {
  if (next === project) return;
  project = next;
  position = null;
  wasInterrupted = false;
  if (project === "") leave();
  else setStatus(isAway ? "paused" : "connecting");
  ping();
}

/** Listens to a project's events while that project is followed. Returns the function that stops it. */
export function listen(to: string, listener: LiveListener): () => void {
  listeners.set(listener, to);
  return () => listeners.delete(listener);
}

/** Whether every event of the project will be delivered from now on. */
export function isFollowing(candidate: string): boolean {
  return candidate === project && position !== null;
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
  tellRecovered();
}

function tellRecovered() {
  for (const listener of currentListeners()) listener.recovered?.();
}

function receive(message: ToTab) {
  unanswered = 0;
  if (isAway || project === "") return;
  if ("position" in message) position = message.position;
  if (message.type === "status") return setStatus(message.status);
  for (const listener of currentListeners()) {
    if (message.type === "events") listener.events?.(message.events);
    else if (message.type === "deleted") listener.deleted?.(message.deleted);
    else if (message.type === "notifications")
      listener.notifications?.(message.notifications, message.unread);
    else if (message.type === "seen") listener.seen?.(message.seen);
    else if (message.type === "notifications-read") listener.notificationsRead?.(message.unread);
    else listener[message.type]?.();
  }
}

function connect(): (message: FromTab) => void {
  try {
    const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), { type: "module" });
    worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => receive(data);
    worker.onerror = runWithoutWorker;
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

/** The worker did not start, or hangs: this tab continues with a stream of its own. */
function runWithoutWorker() {
  if (!stopWorker) return;
  stopWorker();
  stopWorker = undefined;
  send = createHub()(receive);
  if (position) {
    position = null;
    for (const listener of currentListeners()) listener.reset?.();
  }
  ping();
}

function ping() {
  if (project === "" || isAway) return;
  if (stopWorker && unanswered >= unansweredMax) return runWithoutWorker();
  unanswered++;
  send ??= connect();
  send({ type: "here", project, position });
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

// The tab may have been opened in the background.
onVisibility();
document.addEventListener("visibilitychange", onVisibility);
addEventListener("pagehide", goAway);
addEventListener("pageshow", comeBack);
addEventListener("online", () => {
  retryNow();
  // Requests may have failed in an outage too short to end the stream.
  if (status === "live") tellRecovered();
});
