import type { Event } from "../../server/wire/event.ts";
import type { Notification } from "../../server/wire/notification.ts";

export type StreamStatus = "connecting" | "live" | "reconnecting" | "paused";

export type StreamHandlers = {
  events(batch: Event[]): void;
  notification(notification: Notification, unread: number): void;
  /** The stream begins without a token: what happened before it has to be listed. */
  fresh(): void;
  /** The stream lost too much to go on: what is shown has to be listed anew. */
  reset(): void;
  status(status: StreamStatus): void;
  /** The server refused the stream, as for a session that ended. */
  refused(): void;
};

const batchMs = 100;
const hiddenMaxMs = 60_000;
const backoffMaxMs = 30_000;

/**
 * The one stream of this tab, for a whole project. It resumes after a lost connection with the last token, gives the
 * events in batches, and rests while the tab is hidden for long. Returns what closes it.
 */
export function openStream(project: string, handlers: StreamHandlers): () => void {
  let source: EventSource | undefined;
  let token = "";
  let attempts = 0;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  let batchTimer: ReturnType<typeof setTimeout> | undefined;
  let batch: Event[] = [];

  function connect() {
    disconnect();
    handlers.status(attempts > 0 ? "reconnecting" : "connecting");
    const query = new URLSearchParams({ project, ...(token && { lastEventId: token }) });
    const opened = new EventSource(`/api/events/stream?${query}`);
    source = opened;
    opened.addEventListener("open", () => {
      attempts = 0;
      handlers.status("live");
    });
    opened.addEventListener("ready", (message) => {
      const first = token === "";
      remember(message);
      if (first) handlers.fresh();
    });
    opened.addEventListener("event", (message) => {
      remember(message);
      batch.push(JSON.parse(message.data));
      batchTimer ??= setTimeout(flush, batchMs);
    });
    opened.addEventListener("notification", (message) => {
      const { notification, unread } = JSON.parse(message.data);
      handlers.notification(notification, unread);
    });
    opened.addEventListener("reset", (message) => {
      remember(message);
      flush();
      handlers.reset();
    });
    opened.addEventListener("error", () => {
      handlers.status("reconnecting");
      // CONNECTING: the browser tries again by itself. CLOSED: it gave up, for the answer was not a stream.
      if (opened.readyState !== EventSource.CLOSED) return;
      handlers.refused();
      const waitMs = Math.min(backoffMaxMs, 1_000 * 2 ** attempts++) * (0.5 + Math.random() / 2);
      retryTimer = setTimeout(connect, waitMs);
    });
  }

  function remember(message: MessageEvent) {
    if (message.lastEventId) token = message.lastEventId;
  }

  function flush() {
    clearTimeout(batchTimer);
    batchTimer = undefined;
    if (batch.length === 0) return;
    const events = batch;
    batch = [];
    handlers.events(events);
  }

  function disconnect() {
    clearTimeout(retryTimer);
    source?.close();
    source = undefined;
    flush();
  }

  function pause() {
    disconnect();
    handlers.status("paused");
  }

  function onVisibility() {
    clearTimeout(hiddenTimer);
    if (document.visibilityState === "hidden") hiddenTimer = setTimeout(pause, hiddenMaxMs);
    else if (source === undefined || source.readyState === EventSource.CLOSED) connect();
  }

  /** The network came back: no need to wait for the next attempt. */
  function onOnline() {
    if (source !== undefined && source.readyState !== EventSource.OPEN) connect();
  }

  document.addEventListener("visibilitychange", onVisibility);
  window.addEventListener("online", onOnline);
  connect();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    window.removeEventListener("online", onOnline);
    clearTimeout(hiddenTimer);
    disconnect();
  };
}
