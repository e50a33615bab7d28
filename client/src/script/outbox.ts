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

/** Events of one request, which the server limits to 50. */
const batchUsual = 20;
/** Characters of a request that may end after the page was left. Browsers allow 64 KiB for all of these. */
const keepaliveCharacters = 30_000;
/** Events that are kept while the server can't be reached. */
const queueMax = 500;
/** Events that come together are sent together. */
const sendMs = 100;
const retryFirstMs = 3_000;
const retryMaxMs = 300_000;

/**
 * Sends events, and keeps in memory what can't be sent yet. The ID of an event makes sending it again harmless.
 *
 * @param commonFields - fields of a request's body, besides its events
 */
export function createOutbox(endpoint: string, commonFields: () => object) {
  let queue: PageEvent[] = [];
  let batchMax = batchUsual;
  let waitMs = retryFirstMs;
  /** Undefined before it was opened: then events wait. */
  let isOpen: boolean | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function later(ms: number): void {
    timer ??= setTimeout(send, ms);
  }

  /** Sends what there is now. `keepalive` lets requests end after the page was left. */
  function send() {
    clearTimeout(timer);
    timer = undefined;
    if (!(isOpen && navigator.onLine)) return;
    while (queue[0]) {
      const batch = queue.splice(0, batchMax);
      const events = batch.map(({ atMs, ...event }) => ({ ...event, age: Math.max(0, Date.now() - atMs) }));
      const body = JSON.stringify({ ...commonFields(), events });
      // A text needs no preflight. Browsers without `keepalive` have beacons, which tell nothing of the response.
      if (!("keepalive" in Request.prototype)) {
        if (!navigator.sendBeacon(endpoint, body)) return failed(batch);
      } else
        fetch(endpoint, {
          body,
          method: "POST",
          credentials: "omit",
          keepalive: body.length < keepaliveCharacters,
        })
          .then((response) => answered(response, batch))
          .catch(() => failed(batch));
    }
  }

  /** Throws if a proxy has answered with a page. */
  async function answered(response: Response, batch: PageEvent[]): Promise<void> {
    const { ok, status } = response;
    // Then only an event that is too large by itself is lost.
    if (status === 413 && batch[1]) batchMax = 1;
    // With 429 and from 500 on, it can be accepted later.
    else if (status < 429) {
      waitMs = retryFirstMs;
      if (!ok) console.warn("Tidings:", (await response.json()).detail);
      return;
    }
    failed(batch);
  }

  function failed(batch: PageEvent[]): void {
    if (!isOpen) return;
    queue = [...batch, ...queue].slice(-queueMax);
    later(waitMs);
    waitMs = Math.min(2 * waitMs, retryMaxMs);
  }

  addEventListener("online", send);

  return {
    add(event: PageEvent): void {
      if (isOpen !== false && queue.length < queueMax) queue.push(event);
      later(sendMs);
    },
    send,
    /** Begins to send. */
    open(): void {
      isOpen = true;
      send();
    },
    /** Forgets what waits, and takes nothing more. */
    close(): void {
      isOpen = false;
      queue = [];
    },
  };
}
