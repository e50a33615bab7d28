import { expect, test } from "bun:test";
import { expectConsistent } from "../testing/consistency.ts";
import { engine } from "../testing/engine.ts";
import { testProcess } from "../testing/server-process.ts";
import type { Event } from "../wire/event.ts";

const kills = Number(process.env.TIDINGS_TEST_KILLS ?? (engine === "sqlite" ? 25 : 10));
const channels = ["payments", "logins", "errors"];
/** A server lives for some tenths of a second, of which its first connections to a database take their part. */
const leastForKill = engine === "sqlite" ? 100 : 10;
/** Of the requests that may be sent again, this part is sent twice, at the same moment or after its answer. */
const doubled = 0.2;

type Sent = { channel: string; name: string; userId: string; id?: string; createdAt?: number };
type Answer = { status: number; ids: string[] };

/** The ways in, each with so many clients. */
const clients: Record<Way, number> = { id: 16, anonymous: 6, batch: 6, idempotent: 6 };
type Way = "id" | "anonymous" | "batch" | "idempotent";
const readers = 2;

test(
  `an acknowledged event survives kill -9, exactly once, ${kills} times under load`,
  async () => {
    await using app = await testProcess();
    /** The clients' own log: what they were told is stored: ids by `userId`, which no two events share. */
    const acknowledged = new Map<string, string>();
    const latest: { userId: string; id: string }[] = [];
    /** Those that can't be sent again and got no answer: they may be stored or not. */
    const unknown = new Set<string>();
    let repeated = 0;
    let read = 0;
    let generation = 0;
    let isOver = false;

    function eventOf(userId: string, n: number, hasId: boolean): Sent {
      return {
        ...(hasId && { id: Bun.randomUUIDv7() }),
        channel: channels[n % channels.length]!,
        name: `kind ${n % 4}`,
        userId,
        ...(n % 5 === 0 && { createdAt: 1_767_225_600_000 + (n % 7) }),
      };
    }

    /** What the server says to a request; null where it was killed before it said so. */
    async function send(body: unknown, headers: Record<string, string> = {}): Promise<Answer | null> {
      const response = await app
        .request("/api/events", {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        })
        .catch(() => null);
      const text = await response?.text().catch(() => null);
      if (!response || text == null) return null;
      // Anything but success would be a failure that no crash explains; 409 is the same request, still under way.
      if (![200, 201, 409].includes(response.status)) throw new Error(`${response.status}: ${text}`);
      const { event, results } = JSON.parse(text) as { event?: Event; results?: { id: string }[] };
      if (response.status === 200 || response.headers.has("idempotent-replayed")) repeated++;
      return { status: response.status, ids: event ? [event.id] : (results ?? []).map(({ id }) => id) };
    }

    function note(events: Sent[], { ids }: Answer): void {
      for (const [index, { userId }] of events.entries()) {
        // Told twice, it is told the same.
        expect([userId, acknowledged.get(userId) ?? ids[index]]).toEqual([userId, ids[index]]);
        acknowledged.set(userId, ids[index]!);
        latest.push({ userId, id: ids[index]! });
      }
    }

    /** Sends a request again until there is an answer: the server may have stored it and died before it said so. */
    async function sendUntilAnswered(events: Sent[], attempt: () => Promise<Answer | null>): Promise<void> {
      const isDoubled = Math.random() < doubled;
      const isAtOnce = Math.random() < 0.5;
      for (let isAnswered = false; !isAnswered; ) {
        const current = generation;
        const second = isDoubled && isAtOnce ? attempt() : null;
        for (const answer of [await attempt(), await second]) {
          if (answer?.ids.length !== events.length) continue;
          note(events, answer);
          isAnswered = true;
        }
        while (!isAnswered && current === generation) await Bun.sleep(5);
      }
      if (!isDoubled || isAtOnce) return;
      const answer = await attempt();
      if (answer) note(events, answer);
    }

    const ways: Record<Way, (userId: string, n: number) => Promise<void>> = {
      async id(userId, n) {
        const event = eventOf(userId, n, true);
        await sendUntilAnswered([event], () => send(event));
      },
      async anonymous(userId, n) {
        const current = generation;
        const event = eventOf(userId, n, false);
        const answer = await send(event);
        if (answer) return note([event], answer);
        unknown.add(userId);
        while (current === generation) await Bun.sleep(5);
      },
      async batch(userId, n) {
        const events = Array.from({ length: 1 + (n % 50) }, (_, index) =>
          eventOf(`${userId} ${index}`, index, true),
        );
        await sendUntilAnswered(events, () => send(events));
      },
      async idempotent(userId, n) {
        const event = eventOf(userId, n, false);
        const key = Bun.randomUUIDv7();
        await sendUntilAnswered([event], () => send(event, { "idempotency-key": key }));
      },
    };

    async function client(way: Way, number: number): Promise<void> {
      for (let n = 0; !isOver; n++) await ways[way](`${way} ${number} ${n}`, n);
    }

    /** Asks for what was acknowledged, by itself and in its channel's page. */
    async function reader(): Promise<void> {
      while (!isOver) {
        const told = latest.at(-1 - Math.floor(Math.random() * 50));
        const one = told && (await app.request(`/api/events/${told.id}`).catch(() => null));
        if (one) {
          expect(one.status).toBe(200);
          const answer = (await one.json().catch(() => null)) as { event: Event } | null;
          if (answer) expect(answer.event).toMatchObject(told);
        }
        const channel = channels[read++ % channels.length]!;
        const page = await app.request(`/api/events?channel=${channel}&limit=100`).catch(() => null);
        if (!page) await Bun.sleep(5);
        const answer = (await page?.json().catch(() => null)) as { events: Event[] } | null | undefined;
        for (const event of answer?.events ?? []) expect(event.channelId).toBe(channel);
      }
    }

    const running = Promise.all([
      ...Object.entries(clients).flatMap(([way, count]) =>
        Array.from({ length: count }, (_, number) => client(way as Way, number)),
      ),
      ...Array.from({ length: readers }, reader),
    ]);
    for (let n = 0; n < kills; n++) {
      await Promise.race([Bun.sleep(100 + Math.random() * 200), running]);
      await app.end("SIGKILL");
      await app.start();
      generation++;
    }
    await Bun.sleep(100);
    isOver = true;
    await running;

    const { events } = (await (await app.request("/api/events")).json()) as { events: Event[] };
    expect(acknowledged.size).toBeGreaterThan(kills * leastForKill);
    expect(new Set(events.map(({ userId }) => userId)).size).toBe(events.length);
    const known = events.filter(({ userId }) => acknowledged.has(userId) || !unknown.has(userId));
    expect(known.map(({ id, userId }) => `${userId}: ${id}`).sort()).toEqual(
      [...acknowledged].map((pair) => pair.join(": ")).sort(),
    );
    expect(repeated).toBeGreaterThan(kills / 2);
    expect(read).toBeGreaterThan(kills / 2);
    await app.end("SIGTERM");
    expect(await expectConsistent(app.config)).toBe(events.length);
  },
  60_000 + kills * 5_000,
);
