/** An event of the page. */
export type PageEvent = {
  id: string;
  name: string;
  url: string;
  /** By the page's clock. */
  atMs: number;
  referrer?: string | undefined;
  userId?: string | undefined;
  tags?: Record<string, unknown> | undefined;
};

/** Events of one request, which the server limits to 50, and a browser to 64 kB while a page is left. */
const batchMax = 20;
/** Events that are kept while the server can't be reached. */
const queueMax = 500;
/** Events that come together are sent together. */
const sendMs = 100;
const retryMs = { first: 3_000, max: 300_000 };

/**
 * Sends events, and keeps in memory what can't be sent yet. The ID of an event makes sending it again harmless.
 *
 * @param commonFields - fields of a request's body, besides its events
 */
export function createOutbox(endpoint: string, commonFields: () => object) {
  let queue: PageEvent[] = [];
  let waitMs = retryMs.first;
  let isOpen = false;
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function later(ms: number): void {
    timer ??= setTimeout(send, ms);
  }

  /** Sends what there is now. `keepalive` lets requests end after the page was left. */
  function send(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!isOpen || navigator.onLine === false) return;
    while (queue.length > 0) {
      const batch = queue.splice(0, batchMax);
      const now = Date.now();
      const events = batch.map(({ atMs, ...event }) => ({ ...event, age: Math.max(0, now - atMs) }));
      const body = JSON.stringify({ ...commonFields(), events });
      // A text needs no preflight. Browsers without `keepalive` have beacons, which tell nothing of the response.
      if (!("keepalive" in Request.prototype)) navigator.sendBeacon(endpoint, body);
      else
        fetch(endpoint, { method: "POST", body, keepalive: true, credentials: "omit" }).then(
          (response) => answered(response, batch),
          () => failed(batch),
        );
    }
  }

  async function answered(response: Response, batch: PageEvent[]): Promise<void> {
    const { ok, status } = response;
    if (status >= 500 || status === 429) return failed(batch);
    waitMs = retryMs.first;
    if (!ok) console.warn("Tidings:", (await response.json()).detail);
  }

  function failed(batch: PageEvent[]): void {
    queue = [...batch, ...queue].slice(-queueMax);
    later(waitMs);
    waitMs = Math.min(2 * waitMs, retryMs.max);
  }

  addEventListener("online", send);

  return {
    add(event: PageEvent): void {
      if (!isClosed && queue.length < queueMax) queue.push(event);
      later(sendMs);
    },
    send,
    /** Begins to send. */
    open(): void {
      isOpen = true;
      isClosed = false;
      send();
    },
    /** Forgets what waits, and takes nothing more. */
    close(): void {
      isClosed = true;
      queue = [];
    },
  };
}
