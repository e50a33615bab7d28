import type { Store } from "../storage/store.ts";
import { applyPings, changeHeartbeats, type NewPing } from "./apply.ts";

type Deps = { store: Pick<Store, "together" | "rowsOf">; now: () => number };
type Waiting = {
  id: string;
  ping: NewPing;
  resolve: (isFound: boolean) => void;
  reject: (error: unknown) => void;
};

/** Pings that share a transaction. */
const togetherMax = 200;
/** After a transaction, pings wait so long for others to share the next one. */
const restMs = 50;

/** Stores pings. A ping that comes alone is stored at once; many are stored together. */
export class PingQueue {
  readonly #store: Deps["store"];
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #isStoring = false;

  constructor({ store, now }: Deps) {
    this.#store = store;
    this.#now = now;
  }

  /** Resolves once the ping and its events are durable: to false if there is no such heartbeat. */
  add(id: string, sent: Omit<NewPing, "atMs">): Promise<boolean> {
    const ping = { ...sent, atMs: this.#now() };
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#waiting.push({ id, ping, resolve, reject });
    if (!this.#isStoring) void this.#storeAll();
    return promise;
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true;
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting.splice(0, togetherMax);
      await this.#storeTogether(waiting);
      if (this.#waiting.length < togetherMax) await Bun.sleep(restMs);
    }
    this.#isStoring = false;
  }

  async #storeTogether(waiting: readonly Waiting[]): Promise<void> {
    const byHeartbeat = Map.groupBy(waiting, ({ id }) => id);
    try {
      const found = await changeHeartbeats(this.#store, [...byHeartbeat.keys()], (row) =>
        applyPings(
          row,
          byHeartbeat.get(row.id)!.map(({ ping }) => ping),
        ),
      );
      for (const { id, resolve } of waiting) resolve(found.has(id));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
