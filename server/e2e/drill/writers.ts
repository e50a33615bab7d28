import { createClient } from "../../../client/src/index.ts";
import type { Event } from "../../event/event.ts";
import type { Call } from "./call.ts";
import type { Ledger } from "./ledger.ts";

const channels = ["payments", "logins", "errors"];
/** One event in this many matches the rule. */
const alertEvery = 40;
export const alertChannel = "alerts";
/** The pause after each event, and before a request is sent again. */
const pauseMs = 100;
const batchEvents = 20;

type Sent = {
  id?: string;
  channel: string;
  name: string;
  userId: string;
  tags: Record<string, string>;
  createdAt?: number;
};

/** Sends events in every way that is safe to repeat, each until it is acknowledged. */
export class Writers {
  readonly #call: Call;
  readonly #ledger: Ledger;
  readonly #running: Promise<unknown>;
  /** Problems that no retry would solve. */
  readonly problems: string[] = [];
  #isOver = false;
  #number = 0;
  /** When each writer got its last acknowledgement. */
  readonly #lastMs = new Map<string, number>();

  constructor({ address, apiKey }: { address: string; apiKey: string }, call: Call, ledger: Ledger) {
    this.#call = call;
    this.#ledger = ledger;
    const client = createClient({
      baseUrl: address,
      apiKey,
      retries: 1_000,
      batching: { maxWaitMs: 200 },
      onDrop: (events, reason, error) =>
        this.problems.push(`${events.length} dropped: ${reason} ${error?.message}`),
    });
    const ways: Record<string, () => Promise<void>> = {
      "id 1": () => this.#sendWithId(),
      "id 2": () => this.#sendWithId(),
      "id 3": () => this.#sendWithId(),
      "key 1": () => this.#sendWithKey(),
      "key 2": () => this.#sendWithKey(),
      array: () => this.#sendArray(),
      track: () => this.#withClient(1, async ([event]) => [await client.track(event!)]),
      trackMany: () =>
        this.#withClient(5, async (events) => {
          const results = await client.trackMany(events);
          for (const result of results) if (!result.ok) throw result.error;
          return events;
        }),
      capture: () =>
        this.#withClient(3, async (events) => {
          for (const event of events) client.capture(event);
          while (!(await client.flush()));
          return events;
        }),
    };
    this.#running = Promise.all(Object.entries(ways).map(([name, send]) => this.#repeat(name, send)));
  }

  /** Waits until each writer has an event acknowledged that it sent after this call. */
  async untilAllWrite(): Promise<void> {
    const startMs = performance.now();
    while ([...this.#lastMs.values()].some((ms) => ms < startMs)) await Bun.sleep(20);
  }

  /** Stops once everything that was sent is acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #repeat(name: string, send: () => Promise<void>): Promise<void> {
    this.#lastMs.set(name, 0);
    while (!this.#isOver) {
      const startedMs = performance.now();
      try {
        await send();
        this.#ledger.writes.add(startedMs);
        this.#lastMs.set(name, startedMs);
      } catch (error) {
        this.problems.push(`${name}: ${(error as Error).message}`);
      }
      await Bun.sleep(pauseMs);
    }
  }

  #event(): Sent {
    const number = this.#number++;
    return {
      channel: number % alertEvery === 0 ? alertChannel : channels[number % channels.length]!,
      name: `Kind ${number % 5}`,
      userId: `${number}`,
      tags: { kind: `${number % 7}`, number: `${number}` },
    };
  }

  #eventWithId(): Sent & { id: string } {
    return { id: Bun.randomUUIDv7(), ...this.#event() };
  }

  async #sendWithId(): Promise<void> {
    await this.#post(this.#eventWithId(), {});
  }

  async #sendWithKey(): Promise<void> {
    await this.#post(this.#event(), { "idempotency-key": Bun.randomUUIDv7() });
  }

  async #post(event: Sent, headers: Record<string, string>): Promise<void> {
    for (;;) {
      const answer = await this.#call("/api/events", {
        method: "POST",
        headers,
        body: JSON.stringify(event),
      });
      if (answer?.status === 201 || answer?.status === 200)
        return this.#acknowledge(event, (JSON.parse(answer.body) as { event: Event }).event);
      await Bun.sleep(pauseMs);
    }
  }

  async #sendArray(): Promise<void> {
    const events = Array.from({ length: batchEvents }, () => ({
      ...this.#eventWithId(),
      createdAt: Date.now(),
    }));
    for (;;) {
      const answer = await this.#call("/api/events", { method: "POST", body: JSON.stringify(events) });
      const { results = [] } = answer?.body.startsWith("{")
        ? (JSON.parse(answer.body) as { results?: { ok: boolean }[] })
        : {};
      // An event that was acknowledged once counts, whatever happens to the others.
      for (const [at, { ok }] of results.entries()) if (ok) this.#acknowledge(events[at]!, events[at]!);
      if (answer?.status === 201) return;
      await Bun.sleep(pauseMs);
    }
  }

  async #withClient(count: number, send: (events: Sent[]) => Promise<(Sent | Event)[]>): Promise<void> {
    const events = Array.from({ length: count }, () => ({ ...this.#eventWithId(), createdAt: Date.now() }));
    const stored = await send(events);
    for (const [at, event] of events.entries()) this.#acknowledge(event, stored[at]!);
  }

  #acknowledge({ userId, channel }: Sent, { id, createdAt }: Sent | Event): void {
    const createdAtMs = new Date(createdAt!).getTime();
    this.#ledger.acknowledge({ id: id!, userId, channel, createdAtMs, atMs: performance.now() });
  }
}
