import { loadAddress } from "./machine.ts";

/** A node that dies while it sends a notification leaves it to another one, which takes it over within two minutes. */
const latestMs = 150_000;

/** Receives the notifications of a rule. */
export class Deliveries {
  /** How often each event was delivered, by its id. */
  readonly counts = new Map<string, number>();
  readonly #server: Bun.Server<unknown>;

  constructor() {
    this.#server = Bun.serve({
      hostname: loadAddress,
      port: 0,
      fetch: async (request) => {
        const { data } = (await request.json()) as { data: { event?: { id: string } } };
        if (data.event) this.counts.set(data.event.id, (this.counts.get(data.event.id) ?? 0) + 1);
        return new Response();
      },
    });
  }

  get port(): number {
    return this.#server.port!;
  }

  /** Waits until all these events are delivered, and returns those that are not in the end. */
  async missing(ids: readonly string[]): Promise<string[]> {
    for (const endMs = performance.now() + latestMs; ; await Bun.sleep(200)) {
      const missing = ids.filter((id) => !this.counts.has(id));
      if (missing.length === 0 || performance.now() > endMs) return missing;
    }
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}
