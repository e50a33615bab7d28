import type { Event } from "../../event/event.ts";
import type { Call } from "./call.ts";
import type { Acknowledged, Ledger } from "./ledger.ts";

const pauseMs = 100;
const pageEvents = 100;
/** Events of earlier pages that a reader remembers. */
const seenMax = 400;

/** Pages that readers ask for, and which acknowledged events belong on them. */
const pages: { query: string; holds: (event: Seen) => boolean }[] = [
  { query: "", holds: () => true },
  { query: "channel=payments", holds: ({ channel }) => channel === "payments" },
  {
    query: "q=channel%3Alogins%2Cerrors%20kind*",
    holds: ({ channel }) => channel === "logins" || channel === "errors",
  },
];

type Seen = Pick<Acknowledged, "id" | "channel" | "createdAtMs">;

/** Reads pages, searches and single events, and looks for those that must be there. */
export class Readers {
  readonly #call: Call;
  readonly #ledger: Ledger;
  readonly #running: Promise<unknown>;
  #isOver = false;
  /** Acknowledged events that a page or the event itself lacked. */
  readonly vanished = new Set<string>();
  /** Events that were listed before they were acknowledged, and were missing on a later page. */
  readonly listedEarly = new Set<string>();

  constructor(call: Call, ledger: Ledger) {
    this.#call = call;
    this.#ledger = ledger;
    this.#running = Promise.all([...pages.map((page) => this.#readPages(page)), this.#readSingle()]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #readPages({ query, holds }: (typeof pages)[number]): Promise<void> {
    let seen: Seen[] = [];
    for (let startedMs = performance.now(); !this.#isOver; await Bun.sleep(pauseMs)) {
      const acknowledged = this.#ledger.recent();
      const answer = await this.#call(`/api/events?limit=${pageEvents}${query && `&${query}`}`);
      if (answer?.status !== 200) continue;
      this.#ledger.reads.add(startedMs);
      startedMs = performance.now();
      const { events } = JSON.parse(answer.body) as { events: Event[] };
      const page = events.map(seenOf);
      for (const { id } of missingFrom(page, acknowledged.filter(holds))) this.vanished.add(id);
      for (const { id } of missingFrom(page, seen)) if (!this.vanished.has(id)) this.listedEarly.add(id);
      const known = new Set(seen.map(({ id }) => id));
      seen = [...seen, ...page.filter(({ id }) => !known.has(id))].slice(-seenMax);
    }
  }

  async #readSingle(): Promise<void> {
    for (let startedMs = performance.now(); !this.#isOver; await Bun.sleep(pauseMs)) {
      const event = this.#ledger.recent().at(-1 - Math.floor(Math.random() * 50));
      if (!event) continue;
      const answer = await this.#call(`/api/events/${event.id}`);
      if (answer?.status === 404) this.vanished.add(event.id);
      if (answer?.status !== 200) continue;
      this.#ledger.reads.add(startedMs);
      startedMs = performance.now();
    }
  }
}

/** The events that a page, newest first, should list and doesn't. */
export function missingFrom(page: readonly Seen[], expected: readonly Seen[]): Seen[] {
  const ids = new Set(page.map(({ id }) => id));
  const oldestMs = page.length < pageEvents ? Number.NEGATIVE_INFINITY : page.at(-1)!.createdAtMs;
  return expected.filter(({ id, createdAtMs }) => createdAtMs > oldestMs && !ids.has(id));
}

function seenOf({ id, channelId, createdAt }: Event): Seen {
  return { id, channel: channelId, createdAtMs: Date.parse(createdAt) };
}
