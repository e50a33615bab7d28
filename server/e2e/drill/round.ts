import type { Event } from "../../event/event.ts";
import type { Fault } from "./faults.ts";
import type { Installation } from "./installation.ts";
import type { Ledger } from "./ledger.ts";
import { compareStored, type Outcome } from "./outcome.ts";
import type { Readers } from "./readers.ts";
import type { Streams } from "./streams.ts";
import type { Writers } from "./writers.ts";

/** The quiet time before each fault. */
const quietMs = 2_000;
/** Events can be dated a little before the call that sends them. */
const marginMs = 1_000;

export type Scene = {
  installation: Installation;
  ledger: Ledger;
  streams: Streams;
  writers: Writers;
  readers: Readers;
};

/** One fault, from a whole installation to a whole installation. */
export class Round {
  readonly #scene: Scene;
  readonly #fault: Fault;

  constructor(scene: Scene, fault: Fault) {
    this.#scene = scene;
    this.#fault = fault;
  }

  /** @param nth - how often the fault was tried before */
  async run(lastsMs: number, nth: number): Promise<Outcome> {
    const { installation, ledger, streams, writers, readers } = this.#scene;
    await Bun.sleep(quietMs);
    const before = this.#faultsSeen();
    const fromMs = performance.now();
    const fromTime = Date.now();
    await this.#fault.run(installation, () => Bun.sleep(lastsMs), nth);
    const endedMs = performance.now();
    await installation.untilWhole();
    const recoveryMs = performance.now() - endedMs;
    await writers.untilAllWrite();
    const toMs = performance.now();

    const acknowledged = [...ledger.acknowledged.values()].filter(
      ({ createdAtMs }) => createdAtMs >= fromTime - marginMs,
    );
    const stored = await this.#list(fromTime - marginMs);
    const missing = await streams.missing(stored.map(({ id }) => id));
    const after = this.#faultsSeen();
    return {
      fault: this.#fault.name,
      writePauseMs: ledger.writes.longestPause(fromMs, toMs),
      readPauseMs: ledger.reads.longestPause(fromMs, toMs),
      slowestWriteMs: ledger.writes.slowest(fromMs, toMs),
      slowestReadMs: ledger.reads.slowest(fromMs, toMs),
      recoveryMs,
      ...compareStored(stored, acknowledged),
      missing,
      repeated: after.repeated - before.repeated,
      outOfOrder: after.outOfOrder - before.outOfOrder,
      resets: after.resets - before.resets,
      vanished: after.vanished - before.vanished,
      listedEarly: readers.listedEarly.size - before.listedEarly,
    };
  }

  /** Compares all acknowledged events with the complete listing. */
  async compareAll(): Promise<{ lost: number; doubled: number }> {
    return compareStored(await this.#list(0), this.#scene.ledger.acknowledged.values());
  }

  #faultsSeen() {
    const { streams, readers } = this.#scene;
    const sumOf = (name: "doubled" | "outOfOrder" | "resets") =>
      streams.logs.reduce((sum, log) => sum + log[name], 0);
    return {
      repeated: sumOf("doubled"),
      outOfOrder: sumOf("outOfOrder"),
      resets: sumOf("resets"),
      vanished: readers.vanished.size,
      listedEarly: readers.listedEarly.size,
    };
  }

  async #list(fromMs: number): Promise<Event[]> {
    const { address, apiKey } = this.#scene.installation;
    const response = await fetch(`${address}/api/events?from=${new Date(fromMs).toISOString()}`, {
      headers: { "x-api-key": apiKey, accept: "application/x-ndjson" },
    });
    if (response.status !== 200) throw new Error(`The listing answered ${response.status}.`);
    const lines = (await response.text()).split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Event);
  }
}
