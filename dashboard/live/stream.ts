import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/wire/notification.ts";
import { matcherOfDeleted } from "./deleted.ts";

export type StreamStatus = "connecting" | "live" | "reconnecting";

export type StreamHandlers = {
  events(batch: Event[]): void;
  /** These events are gone; what `events` is given after that is not among them. */
  deleted(batch: DeletedEvents[]): void;
  notifications(batch: Notification[], unread: number): void;
  /** The stream is connected. `isFirst`: it starts here, so what happened before has to be listed. */
  ready(isFirst: boolean): void;
  /** Too much was missed: what is shown has to be listed again. */
  reset(): void;
  status(status: StreamStatus): void;
  /** The server did not answer with a stream, such as when the session has ended. */
  rejected(): void;
};

export type Stream = { open(): void; retry(): void; close(): void };

const batchMs = 100;
/** Faster than anybody reads, events come in fewer and larger batches, which leave the page its time. */
const busyBatchEvents = 10;
const busyBatchMs = 300;
const backoffMaxMs = 30_000;
/** The server sends a heartbeat every 15 seconds: a connection that is silent for so long is dead, though nobody said so. */
const silenceMaxMs = 40_000;
const silenceLookMs = 5_000;

/**
 * A project's event stream. It resumes where it was after a lost connection or a `close`, and delivers in batches.
 * Runs in a page and in a worker.
 */
export function createStream(project: string, handlers: StreamHandlers): Stream {
  let source: EventSource | undefined;
  let token = "";
  let attempts = 0;
  let heardAtMs = 0;
  let silenceTimer: ReturnType<typeof setInterval> | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let batchTimer: ReturnType<typeof setTimeout> | undefined;
  let events: Event[] = [];
  let lastBatchEvents = 0;
  let deleted: DeletedEvents[] = [];
  let notifications: Notification[] = [];
  let unread = 0;

  function open() {
    close();
    handlers.status(attempts > 0 ? "reconnecting" : "connecting");
    const query = new URLSearchParams({ project, ...(token && { lastEventId: token }) });
    const opened = new EventSource(`/api/events/stream?${query}`);
    source = opened;
    heardAtMs = Date.now();
    silenceTimer = setInterval(endSilence, silenceLookMs);
    opened.addEventListener("heartbeat", heard);
    opened.addEventListener("open", () => {
      heard();
      attempts = 0;
      handlers.status("live");
    });
    opened.addEventListener("ready", (message) => {
      const isFirst = token === "";
      remember(message);
      handlers.ready(isFirst);
    });
    opened.addEventListener("event", (message) => {
      heard();
      remember(message);
      events.push(JSON.parse(message.data));
      batchTimer ??= setTimeout(flush, lastBatchEvents > busyBatchEvents ? busyBatchMs : batchMs);
    });
    opened.addEventListener("deleted", (message) => {
      const gone: DeletedEvents = JSON.parse(message.data);
      const isDeleted = matcherOfDeleted([gone]);
      events = events.filter((event) => !isDeleted(event));
      deleted.push(gone);
      batchTimer ??= setTimeout(flush, batchMs);
    });
    opened.addEventListener("notification", (message) => {
      const received = JSON.parse(message.data);
      notifications.push(received.notification);
      unread = received.unread;
      batchTimer ??= setTimeout(flush, batchMs);
    });
    opened.addEventListener("reset", (message) => {
      remember(message);
      flush();
      handlers.reset();
    });
    opened.addEventListener("error", () => {
      handlers.status("reconnecting");
      // CONNECTING: the browser retries by itself. CLOSED: it gave up, because the response was not a stream.
      if (opened.readyState !== EventSource.CLOSED) return;
      handlers.rejected();
      const waitMs = Math.min(backoffMaxMs, 1_000 * 2 ** attempts++) * (0.5 + Math.random() / 2);
      retryTimer = setTimeout(open, waitMs);
    });
  }

  function heard() {
    heardAtMs = Date.now();
  }

  /** Opens the stream anew where nothing was heard of the server, such as after the computer slept. */
  function endSilence() {
    if (!source || Date.now() - heardAtMs <= silenceMaxMs) return;
    attempts++;
    open();
  }

  function remember(message: MessageEvent) {
    if (message.lastEventId) token = message.lastEventId;
  }

  function flush() {
    clearTimeout(batchTimer);
    batchTimer = undefined;
    lastBatchEvents = events.length;
    if (deleted.length > 0) handlers.deleted(deleted);
    if (events.length > 0) handlers.events(events);
    if (notifications.length > 0) handlers.notifications(notifications, unread);
    deleted = [];
    events = [];
    notifications = [];
  }

  /** Skips the wait for the next attempt. */
  function retry() {
    if (source?.readyState !== EventSource.OPEN) open();
  }

  function close() {
    clearTimeout(retryTimer);
    clearInterval(silenceTimer);
    source?.close();
    source = undefined;
    flush();
  }

  return { open, retry, close };
}
