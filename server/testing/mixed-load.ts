import { expect } from "bun:test";
import type { Event } from "../event/event.ts";

/** A server that may be away for a while, and rejects then. */
export type Target = { request: (path: string, init?: RequestInit) => Promise<Response> };

/** What clients were told, as they wrote it down themselves. */
export type Told = {
  /** What is stored: ids by `userId`, which no two events share. */
  acknowledged: Map<string, string>;
  /** Those that can't be sent again and got no answer: they may be stored or not. */
  unknown: Set<string>;
  /** Answers that said that it was stored before. */
  repeated: number;
  /** Pages that were read. */
  read: number;
  /** Answers of a server whose storage was away. */
  rejected: number;
  /** The longest that an answer took, in milliseconds. */
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
type Answer = { status: number; ids: string[] };
type Way = "id" | "anonymous" | "batch" | "idempotent";

const channels = ["payments", "logins", "errors"];
/** Of the requests that may be sent again, this part is sent twice, at the same moment or after its answer. */
const doubled = 0.2;
/** Until what got no answer is sent again: none from a process, or none from its storage. */
const retryMs = 10;
const awayMs = 100;
/** Longer than this nobody waits. */
const patienceMs = 20_000;

/**
 * Sends events in every way, and reads them, until it is stopped. What got no answer is sent again until it has one, by any of
 * the servers; what is sent twice is sent to two of them, where there are two.
 *
 * @param clients - how many send in each way
 * @param isAwayAllowed - whether servers may answer 503, for their storage is away
 */
export function startLoad(
  targets: readonly Target[],
  clients: Record<Way, number>,
  { readers = 2, isAwayAllowed = false } = {},
) {
  const told: Told = {
    acknowledged: new Map(),
    unknown: new Set(),
    repeated: 0,
    read: 0,
    rejected: 0,
    slowestMs: 0,
  };
  const latest: { userId: string; id: string }[] = [];
  let isOver = false;
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

  /** The text of an answer; null where there was none, or the storage was away. */
  async function ask(target: Target, path: string, init: RequestInit = {}) {
    const startMs = performance.now();
    const signal = AbortSignal.timeout(patienceMs);
    const response = await target.request(path, { ...init, signal }).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (signal.aborted) throw new Error(`${path} was not answered in ${patienceMs} ms.`);
    if (!response || text == null) return null;
    told.slowestMs = Math.max(told.slowestMs, performance.now() - startMs);
    const { status, headers } = response;
    if (status !== 503) return { status, text, isReplayed: headers.has("idempotent-replayed") };
    if (!text.includes("is starting")) {
      if (!isAwayAllowed) throw new Error(`503: ${text}`);
      told.rejected++;
    }
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    await Bun.sleep(awayMs);
    return null;
  }

  /** What a server says to a request; null where it said nothing of use. */
  async function send(target: Target, body: unknown, headers: object = {}): Promise<Answer | null> {
    const answer = await ask(target, "/api/events", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    if (!answer) return null;
    const { status, text, isReplayed } = answer;
    // Of an array, a part may have met a storage that went away just then.
    const isPart = isAwayAllowed && status === 207 && text.includes("/problems/storage-unavailable");
    // Anything but success would be a failure that no crash explains; 409 is the same request, still under way.
    if (![200, 201, 409].includes(status) && !isPart) throw new Error(`${status}: ${text}`);
    const { event, results } = JSON.parse(text) as {
      event?: Event;
      results?: ({ ok: true; id: string } | { ok: false })[];
    };
    if (status === 200 || isReplayed) told.repeated++;
    return {
      status,
      ids: event ? [event.id] : (results ?? []).flatMap((result) => (result.ok ? [result.id] : [])),
    };
  }

  function note(events: Sent[], { ids }: Answer): void {
    for (const [index, { userId }] of events.entries()) {
      // Told twice, it is told the same.
      expect([userId, told.acknowledged.get(userId) ?? ids[index]]).toEqual([userId, ids[index]]);
      told.acknowledged.set(userId, ids[index]!);
      latest.push({ userId, id: ids[index]! });
    }
  }

  const nextTarget = () => targets[next++ % targets.length]!;

  /** Sends a request again until there is an answer: the server may have stored it and died before it said so. */
  async function sendUntilAnswered(
    events: Sent[],
    attempt: (target: Target) => Promise<Answer | null>,
  ): Promise<void> {
    const isDoubled = Math.random() < doubled;
    const isAtOnce = Math.random() < 0.5;
    for (let isAnswered = false; !isAnswered; ) {
      const first = attempt(nextTarget());
      const second = isDoubled && isAtOnce ? attempt(nextTarget()) : null;
      for (const answer of await Promise.all([first, second])) {
        if (answer?.ids.length !== events.length) continue;
        note(events, answer);
        isAnswered = true;
      }
      if (!isAnswered) await Bun.sleep(retryMs);
    }
    if (!isDoubled || isAtOnce) return;
    const answer = await attempt(nextTarget());
    if (answer?.ids.length === events.length) note(events, answer);
  }

  const ways: Record<Way, (userId: string, n: number) => Promise<void>> = {
    async id(userId, n) {
      const event = eventOf(userId, n, true);
      await sendUntilAnswered([event], (target) => send(target, event));
    },
    async anonymous(userId, n) {
      const event = eventOf(userId, n, false);
      const answer = await send(nextTarget(), event);
      if (answer) return note([event], answer);
      told.unknown.add(userId);
      await Bun.sleep(retryMs);
    },
    async batch(userId, n) {
      const events = Array.from({ length: 1 + (n % 50) }, (_, index) =>
        eventOf(`${userId} ${index}`, index, true),
      );
      await sendUntilAnswered(events, (target) => send(target, events));
    },
    async idempotent(userId, n) {
      const event = eventOf(userId, n, false);
      const key = Bun.randomUUIDv7();
      await sendUntilAnswered([event], (target) => send(target, event, { "idempotency-key": key }));
    },
  };

  async function client(way: Way, number: number): Promise<void> {
    for (let n = 0; !isOver; n++) await ways[way](`${way} ${number} ${n}`, n);
  }

  /** Asks for what was acknowledged, by itself and in its channel's page. */
  async function reader(): Promise<void> {
    while (!isOver) {
      const known = latest.at(-1 - Math.floor(Math.random() * 50));
      const one = known && (await ask(nextTarget(), `/api/events/${known.id}`));
      if (one) {
        expect(one.status).toBe(200);
        expect((JSON.parse(one.text) as { event: Event }).event).toMatchObject(known);
      }
      const channel = channels[told.read++ % channels.length]!;
      const page = await ask(nextTarget(), `/api/events?channel=${channel}&limit=100`);
      if (!page) await Bun.sleep(retryMs);
      else for (const event of eventsIn(page.text)) expect(event.channelId).toBe(channel);
    }
  }

  const running = Promise.all([
    ...Object.entries(clients).flatMap(([way, count]) =>
      Array.from({ length: count }, (_, number) => client(way as Way, number)),
    ),
    ...Array.from({ length: readers }, reader),
  ]);
  running.catch(() => {});
  return {
    told,
    /** Waits; rejects as soon as a client was told what may not be. */
    during: (ms: number): Promise<unknown> => Promise.race([Bun.sleep(ms), running]),
    /** Waits until so many more events are acknowledged, however quick the machine is, and some time more. */
    async untilMore(events: number): Promise<void> {
      const goal = told.acknowledged.size + events;
      while (told.acknowledged.size < goal) await Promise.race([Bun.sleep(20), running]);
      await Promise.race([Bun.sleep(Math.random() * 200), running]);
    },
    /** Ends it when each client has the answer that it waits for. */
    async stop(): Promise<Told> {
      isOver = true;
      await running;
      return told;
    },
  };
}

/** Expects of a complete listing that it holds what was acknowledged, and nothing else that could have been told. */
export async function expectToldEvents(target: Target, told: Told): Promise<Event[]> {
  const events = eventsIn(await (await target.request("/api/events")).text());
  expect(new Set(events.map(({ userId }) => userId)).size).toBe(events.length);
  const known = events.filter(({ userId }) => told.acknowledged.has(userId) || !told.unknown.has(userId));
  expect(known.map(({ id, userId }) => `${userId}: ${id}`).sort()).toEqual(
    [...told.acknowledged].map((pair) => pair.join(": ")).sort(),
  );
  return events;
}

function eventsIn(text: string): Event[] {
  return (JSON.parse(text) as { events: Event[] }).events;
}
