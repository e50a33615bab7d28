import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/schemas/notification.ts";
import type { SeenMessage } from "../../server/schemas/view.ts";
import { matcherOfDeleted } from "./deleted.ts";

export type StreamStatus = "connecting" | "live" | "reconnecting";

export type StreamHandlers = {
  events(batch: Event[]): void;
  /** These events were deleted; later calls of `events` don't include them. */
  deleted(batch: DeletedEvents[]): void;
  notifications(batch: Notification[], unread: number): void;
  /** The account has read channels or views, here or on another device. */
  seen(message: SeenMessage): void;
  /** The account has read notifications, here or on another device. So many are left. */
  notificationsRead(unread: number): void;
  /** The stream is connected. `isFirst`: it starts here, so what happened before has to be loaded. */
  ready(isFirst: boolean): void;
  /** The tab missed too much: it has to reload its data. */
  reset(): void;
  status(status: StreamStatus): void;
  /** The response was not a stream, for example because the session has ended. */
  rejected(): void;
};

export type Stream = { open(): void; retry(): void; close(): void };

const batchMs = 100;
/** When events arrive faster than anyone reads, batches are fewer and larger, to spare the page some work. */
const busyBatchEvents = 10;
const busyBatchMs = 300;
const backoffMaxMs = 30_000;
/** The server sends a heartbeat every 15 seconds, so a connection that is silent for this long is dead. */
const silenceTimeoutMs = 40_000;
const silenceCheckMs = 5_000;

/**
 * A project's event stream. After a lost connection or `close` it resumes where it was. Delivers in batches. Runs in
 * pages and workers.
 */
export function createStream(project: string, handlers: StreamHandlers): Stream {
  let source: EventSource | undefined;
  let token = "";
  let attempts = 0;
  let lastMessageAtMs = 0;
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
    lastMessageAtMs = Date.now();
    silenceTimer = setInterval(reopenIfSilent, silenceCheckMs);
    opened.addEventListener("heartbeat", noteMessage);
    opened.addEventListener("open", () => {
      noteMessage();
      attempts = 0;
      handlers.status("live");
    });
    opened.addEventListener("ready", (message) => {
      const isFirst = token === "";
      saveToken(message);
      handlers.ready(isFirst);
    });
    opened.addEventListener("event", (message) => {
      noteMessage();
      saveToken(message);
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
    opened.addEventListener("seen", (message) => {
      // The events that arrived before are read, too.
      flush();
      handlers.seen(JSON.parse(message.data));
    });
    opened.addEventListener("notifications-read", (message) => {
      flush();
      handlers.notificationsRead(JSON.parse(message.data).unread);
    });
    opened.addEventListener("reset", (message) => {
      saveToken(message);
      flush();
      handlers.reset();
    });
    opened.addEventListener("error", () => {
      handlers.status("reconnecting");
      // CONNECTING: the browser retries. CLOSED: it gave up, because the response was not a stream.
      if (opened.readyState !== EventSource.CLOSED) return;
      handlers.rejected();
      const waitMs = Math.min(backoffMaxMs, 1_000 * 2 ** attempts++) * (0.5 + Math.random() / 2);
      retryTimer = setTimeout(open, waitMs);
    });
  }

  function noteMessage() {
    lastMessageAtMs = Date.now();
  }

  /** Reopens the stream if the server has been silent, for example after the computer slept. */
  function reopenIfSilent() {
    if (!source || Date.now() - lastMessageAtMs <= silenceTimeoutMs) return;
    attempts++;
    open();
  }

  function saveToken(message: MessageEvent) {
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
