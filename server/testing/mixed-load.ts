import { expect } from "bun:test";
import type { Event } from "../event/event.ts";
import { patienceMs } from "./engine.ts";

/** A server that may be down for a while and then rejects requests. */
export type LoadTarget = { request: (path: string, init?: RequestInit) => Promise<Response> };

/** The responses that clients got. */
export type LoadOutcome = {
  /** Stored events: ids by `userId`, which is unique per event. */
  acknowledged: Map<string, string>;
  /** Events without a response that can't be retried: they may or may not be stored. */
  unknown: Set<string>;
  /** Responses that reported an event as already stored. */
  repeated: number;
  /** The number of pages read. */
  read: number;
  /** Responses of servers whose storage was unavailable. */
  rejected: number;
  /** The slowest response, in milliseconds. */
  slowestMs: number;
};

type Sent = {
  channel: string;
  name: string;
  userId: string;
  id?: string;
  createdAt?: number;
  notify?: boolean;
};
type PostResult = { status: number; ids: string[] };
type Mode = "id" | "anonymous" | "batch" | "idempotent";

const channels = ["payments", "logins", "errors"];
/** The share of retryable requests that are sent twice, concurrently or one after the other. */
const duplicateShare = 0.2;
/** The wait before a retry: without a response, or while the storage is unavailable. */
const retryMs = 10;
const unavailableRetryMs = 100;

/**
 * Sends events in every mode, and reads them, until it is stopped. Requests without a response are retried until any
 * server responds; requests that are sent twice go to two servers, if there are two.
 *
 * @param clients - the number of clients in each mode
 * @param allowUnavailable - whether servers may respond with 503 because their storage is unavailable
 * @param pauseMs - how long a client waits after each request
 */
export function startLoad(
  targets: readonly LoadTarget[],
  clients: Record<Mode, number>,
  { readers = 2, allowUnavailable = false, pauseMs = 0 } = {},
) {
  const outcome: LoadOutcome = {
    acknowledged: new Map(),
    unknown: new Set(),
    repeated: 0,
    read: 0,
    rejected: 0,
    slowestMs: 0,
  };
  const latest: { userId: string; id: string }[] = [];
  let isOver = false;
  /** Nobody waits for the clients: they don't retry. */
  let isAbandoned = false;
  let next = 0;

  function eventOf(userId: string, n: number, hasId: boolean): Sent {
    return {
      ...(hasId && { id: Bun.randomUUIDv7() }),
      channel: channels[n % channels.length]!,
      name: `kind ${n % 4}`,
      userId,
      ...(n % 5 === 0 && { createdAt: 1_767_225_600_000 + (n % 7) }),
      ...(n % 16 === 1 && { notify: true }),
    };
  }

  /** Resolves to a response's text; null if there was no response or the storage was unavailable. */
  async function fetchText(target: LoadTarget, path: string, init: RequestInit = {}) {
    const startMs = performance.now();
    const signal = AbortSignal.timeout(patienceMs);
    const response = await target.request(path, { ...init, signal }).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (signal.aborted) throw new Error(`${path} was not answered in ${patienceMs} ms.`);
    if (!response || text == null) return null;
    outcome.slowestMs = Math.max(outcome.slowestMs, performance.now() - startMs);
    const { status, headers } = response;
    if (status !== 503) return { status, text, isReplayed: headers.has("idempotent-replayed") };
    if (!text.includes("is starting")) {
      if (!allowUnavailable) throw new Error(`503: ${text}`);
      outcome.rejected++;
    }
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    await Bun.sleep(unavailableRetryMs);
    return null;
  }

  /** Posts events. Resolves to the response; null if it was lost or temporary. */
  async function send(target: LoadTarget, body: unknown, headers: object = {}): Promise<PostResult | null> {
    const result = await fetchText(target, "/api/events", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    if (!result) return null;
    const { status, text, isReplayed } = result;
    // The storage may have become unavailable in the middle of an array.
    const isPartial = allowUnavailable && status === 207 && text.includes("/problems/storage-unavailable");
    // No crash explains any other status. 409 is the same request, still in progress.
    if (![200, 201, 409].includes(status) && !isPartial) throw new Error(`${status}: ${text}`);
    const { event, results } = JSON.parse(text) as {
      event?: Event;
      results?: ({ ok: true; id: string } | { ok: false })[];
    };
    if (status === 200 || isReplayed) outcome.repeated++;
    return {
      status,
      ids: event ? [event.id] : (results ?? []).flatMap((result) => (result.ok ? [result.id] : [])),
    };
  }

  function saveOutcome(events: Sent[], { ids }: PostResult): void {
    for (const [index, { userId }] of events.entries()) {
      // Repeated responses must agree.
      expect([userId, outcome.acknowledged.get(userId) ?? ids[index]]).toEqual([userId, ids[index]]);
      outcome.acknowledged.set(userId, ids[index]!);
      latest.push({ userId, id: ids[index]! });
    }
  }

  const nextTarget = () => targets[next++ % targets.length]!;

  /** Retries until there is a response: the server may have stored the events and died before it responded. */
  async function sendWithRetries(
    events: Sent[],
    attempt: (target: LoadTarget) => Promise<PostResult | null>,
  ): Promise<void> {
    const isDuplicated = Math.random() < duplicateShare;
    const isConcurrent = Math.random() < 0.5;
    for (let isDone = false; !isDone; ) {
      const first = attempt(nextTarget());
      const second = isDuplicated && isConcurrent ? attempt(nextTarget()) : null;
      for (const result of await Promise.all([first, second])) {
        if (result?.ids.length !== events.length) continue;
        saveOutcome(events, result);
        isDone = true;
      }
      if (isAbandoned) return;
      if (!isDone) await Bun.sleep(retryMs);
    }
    if (!isDuplicated || isConcurrent) return;
    const result = await attempt(nextTarget());
    if (result?.ids.length === events.length) saveOutcome(events, result);
  }

  const modes: Record<Mode, (userId: string, n: number) => Promise<void>> = {
    async id(userId, n) {
      const event = eventOf(userId, n, true);
      await sendWithRetries([event], (target) => send(target, event));
    },
    async anonymous(userId, n) {
      const event = eventOf(userId, n, false);
      const result = await send(nextTarget(), event);
      if (result) return saveOutcome([event], result);
      outcome.unknown.add(userId);
      await Bun.sleep(retryMs);
    },
    async batch(userId, n) {
      const events = Array.from({ length: 1 + (n % 50) }, (_, index) =>
        eventOf(`${userId} ${index}`, index, true),
      );
      await sendWithRetries(events, (target) => send(target, events));
    },
    async idempotent(userId, n) {
      const event = eventOf(userId, n, false);
      const key = Bun.randomUUIDv7();
      await sendWithRetries([event], (target) => send(target, event, { "idempotency-key": key }));
    },
  };

  async function client(mode: Mode, number: number): Promise<void> {
    for (let n = 0; !isOver; n++) {
      await modes[mode](`${mode} ${number} ${n}`, n);
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  }

  /** Reads acknowledged events, one by one and in their channels' pages. */
  async function reader(): Promise<void> {
    while (!isOver) {
      const known = latest.at(-1 - Math.floor(Math.random() * 50));
      const one = known && (await fetchText(nextTarget(), `/api/events/${known.id}`));
      if (one) {
        expect(one.status).toBe(200);
        expect((JSON.parse(one.text) as { event: Event }).event).toMatchObject(known);
      }
      const channel = channels[outcome.read++ % channels.length]!;
      const page = await fetchText(nextTarget(), `/api/events?channel=${channel}&limit=100`);
      if (!page) await Bun.sleep(retryMs);
      else for (const event of eventsIn(page.text)) expect(event.channelId).toBe(channel);
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  }

  const running = Promise.all([
    ...Object.entries(clients).flatMap(([mode, count]) =>
      Array.from({ length: count }, (_, number) => client(mode as Mode, number)),
    ),
    ...Array.from({ length: readers }, reader),
  ]);
  running.catch(() => {});
  return {
    outcome,
    /** Waits; rejects as soon as a client got an unexpected response. */
    during: (ms: number): Promise<unknown> => Promise.race([Bun.sleep(ms), running]),
    /** Waits until this many more events are acknowledged, and a random time more. */
    async untilMore(events: number): Promise<void> {
      const goal = outcome.acknowledged.size + events;
      while (outcome.acknowledged.size < goal) await Promise.race([Bun.sleep(20), running]);
      await Promise.race([Bun.sleep(Math.random() * 200), running]);
    },
    [Symbol.dispose]() {
      isOver = true;
      isAbandoned = true;
    },
    /** Stops once each client has got its last response. */
    async stop(): Promise<LoadOutcome> {
      isOver = true;
      await running;
      return outcome;
    },
  };
}

/** Expects a complete listing to contain all acknowledged events, and otherwise only unknown ones. */
export async function expectToldEvents(target: LoadTarget, outcome: LoadOutcome): Promise<Event[]> {
  const events = eventsIn(await (await target.request("/api/events")).text());
  expect(new Set(events.map(({ userId }) => userId)).size).toBe(events.length);
  const known = events.filter(
    ({ userId }) => outcome.acknowledged.has(userId) || !outcome.unknown.has(userId),
  );
  expect(known.map(({ id, userId }) => `${userId}: ${id}`).sort()).toEqual(
    [...outcome.acknowledged].map((pair) => pair.join(": ")).sort(),
  );
  return events;
}

function eventsIn(text: string): Event[] {
  return (JSON.parse(text) as { events: Event[] }).events;
}
