import type { Servers } from "../kept-servers.ts";
import { Latencies } from "../latencies.ts";
import { bodyOf, leaverName, leaverSpan } from "./events.ts";
import { type EventSet, fateOf, leaverOf } from "./ledger.ts";

const tickMs = 10;
const retryMs = 100;
/** Requests in flight, beyond which none is sent: the servers are down or too slow. */
const inFlightMax = 1_000;
/** Of a hundred events, the second half is sent as an array. */
const cycle = 100;
const arrayFrom = 50;
const closedLoopConnections = 32;

/** Posts events at a fixed rate, each until it is acknowledged, and remembers those that are. */
export class Posts {
  readonly #servers: Servers;
  readonly #apiKey: string;
  readonly #run: number;
  readonly #acknowledged: EventSet;
  readonly #inFlightOf = new Map<number, number>();
  #next = 0;
  #inFlight = 0;
  #isOver = false;
  #failure: Error | null = null;
  /** Latencies of first attempts since the last sample. */
  latencies = new Latencies();
  acknowledgedCount = 0;
  retries = 0;

  constructor(servers: Servers, apiKey: string, run: number, acknowledged: EventSet) {
    this.#servers = servers;
    this.#apiKey = apiKey;
    this.#run = run;
    this.#acknowledged = acknowledged;
  }

  /** Throws what a request failed with, if it was no outage. */
  check(): void {
    if (this.#failure) throw this.#failure;
  }

  /** Posts `rate` events a second until it is stopped. A latency counts from when the request was due. */
  async atRate(rate: number): Promise<void> {
    const startedMs = performance.now();
    const firstNumber = this.#next;
    while (!this.#isOver) {
      const due = firstNumber + Math.floor(((performance.now() - startedMs) / 1_000) * rate);
      for (;;) {
        const size = this.#sizeOf(this.#next);
        if (this.#next + size > due || this.#inFlight >= inFlightMax) break;
        const dueMs = startedMs + ((this.#next + size - firstNumber) / rate) * 1_000;
        void this.#send(this.#take(size), dueMs);
      }
      await Bun.sleep(tickMs);
    }
  }

  /** Posts as many as are answered for some seconds. Returns the events a second. */
  async calibrate(seconds: number): Promise<number> {
    const startedMs = performance.now();
    const before = this.acknowledgedCount;
    const isOver = () => performance.now() - startedMs > seconds * 1_000;
    await Promise.all(
      Array.from({ length: closedLoopConnections }, async () => {
        while (!isOver()) await this.#send(this.#take(this.#sizeOf(this.#next)), performance.now());
      }),
    );
    this.check();
    return (this.acknowledgedCount - before) / ((performance.now() - startedMs) / 1_000);
  }

  /** Sends nothing more, and waits until all is acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true;
    while (this.#inFlight > 0 && !this.#failure) await Bun.sleep(tickMs);
    this.check();
  }

  /** Users of whom nothing more will be sent, and everything was acknowledged. */
  finishedLeavers(): string[] {
    const current = leaverOf(this.#next, leaverSpan);
    return Array.from({ length: current }, (_, leaver) => leaver)
      .filter((leaver) => (this.#inFlightOf.get(leaver) ?? 0) === 0)
      .map((leaver) => leaverName(this.#run, leaver));
  }

  #sizeOf(number: number): number {
    return number % cycle === arrayFrom ? cycle - arrayFrom : 1;
  }

  #take(size: number): number[] {
    const numbers = Array.from({ length: size }, (_, index) => this.#next + index);
    this.#next += size;
    return numbers;
  }

  async #send(numbers: number[], dueMs: number): Promise<void> {
    const leavers = numbers
      .filter((number) => fateOf(number) === "erased")
      .map((n) => leaverOf(n, leaverSpan));
    this.#countInFlight(leavers, 1);
    this.#inFlight++;
    try {
      const nowMs = Date.now();
      const events = numbers.map((number) => bodyOf(this.#run, number, nowMs));
      const body = JSON.stringify(numbers.length === 1 ? events[0] : events);
      for (let attempt = 0; !(await this.#attempt(body)); attempt++) {
        if (attempt === 0) dueMs = Number.POSITIVE_INFINITY;
        this.retries++;
        await Bun.sleep(retryMs);
      }
      if (dueMs !== Number.POSITIVE_INFINITY) this.latencies.add(performance.now() - dueMs);
      for (const number of numbers) this.#acknowledged.add({ run: this.#run, number });
      this.acknowledgedCount += numbers.length;
    } catch (error) {
      this.#failure ??= error as Error;
    } finally {
      this.#inFlight--;
      this.#countInFlight(leavers, -1);
    }
  }

  #countInFlight(leavers: number[], change: 1 | -1): void {
    for (const leaver of leavers) this.#inFlightOf.set(leaver, (this.#inFlightOf.get(leaver) ?? 0) + change);
  }

  /** Returns whether all events were acknowledged; false during an outage. */
  async #attempt(body: string): Promise<boolean> {
    const response = await fetch(`${this.#servers.address}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": this.#apiKey },
      body,
    }).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (!response || text === null || text === undefined || response.status === 503) return false;
    if (response.status === 201 || response.status === 200) return true;
    throw new Error(`POST /api/events answered ${response.status}: ${text.slice(0, 500)}`);
  }
}
