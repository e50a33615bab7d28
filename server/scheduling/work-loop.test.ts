import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { until } from "../testing/until.ts";
import { requestSignal, withDeadline } from "./deadline.ts";
import { WorkLoop } from "./work-loop.ts";

class TestLoop extends WorkLoop {
  readonly errors: unknown[] = [];
  readonly #work: (loop: TestLoop) => Promise<void>;
  readonly #waitMs: number;

  constructor(work: (loop: TestLoop) => Promise<void>, waitMs = Number.POSITIVE_INFINITY) {
    super({ onError: (error) => this.errors.push(error) });
    [this.#work, this.#waitMs] = [work, waitMs];
  }

  protected work(): Promise<void> {
    return this.#work(this);
  }

  protected waitMs(): number {
    return this.#waitMs;
  }

  override rest(ms: number): Promise<void> {
    return super.rest(ms);
  }

  async restBriefly(times: number): Promise<void> {
    for (let n = 0; n < times; n++) await this.rest(0.1);
  }

  async restUntilClosed(): Promise<boolean> {
    await this.rest(1e6);
    return this.isClosed;
  }
}

test("work that is woken while it runs is repeated once, and never runs twice at once", async () => {
  let [running, most, runs] = [0, 0, 0];
  const loop = new TestLoop(async () => {
    most = Math.max(most, ++running);
    await Bun.sleep(5);
    running--;
    runs++;
  });
  for (let n = 0; n < 3; n++) loop.wake();
  await loop.idle();
  expect([runs, most]).toEqual([2, 1]);
});

test("work outlasts the request that woke it", async () => {
  const client = new AbortController();
  const signals: unknown[] = [];
  const loop = new TestLoop(async () => void signals.push(requestSignal()), 1);
  await withDeadline(client.signal, async () => loop.wake());
  client.abort();
  await until(() => signals.length > 2);
  await loop.close();
  expect(new Set(signals)).toEqual(new Set([undefined]));
});

test("work runs when it is due, without a wake-up", async () => {
  let runs = 0;
  const loop = new TestLoop(async () => void runs++, 1);
  loop.wake();
  await until(() => runs > 3);
  await loop.close();
  const ended = runs;
  await Bun.sleep(20);
  expect(runs).toBe(ended);
});

test("an error is reported, and the work is tried again", async () => {
  let runs = 0;
  const loop = new TestLoop(async () => {
    if (runs++ === 0) throw new Error("no storage");
  });
  loop.wake();
  await loop.idle();
  expect([runs, loop.errors.map(String)]).toEqual([1, ["Error: no storage"]]);
  await until(() => runs === 2);
  await loop.close();
});

test("closing ends a rest, waits for the work and begins none", async () => {
  const ended: boolean[] = [];
  const loop = new TestLoop(async (resting) => void ended.push(await resting.restUntilClosed()));
  loop.wake();
  loop.wake();
  await loop.close();
  loop.wake();
  await loop.idle();
  expect(ended).toEqual([true]);
});

test("rests leave nothing behind", async () => {
  const promises = () => {
    Bun.gc(true);
    return heapStats().objectTypeCounts.Promise ?? 0;
  };
  const before = promises();
  const loop = new TestLoop((resting) => resting.restBriefly(500));
  loop.wake();
  await loop.idle();
  expect(promises() - before).toBeLessThan(250);
  await loop.close();
});

test("work that was due before runs at once, without a warning", async () => {
  const warnings: string[] = [];
  const warn = ({ name }: Error) => warnings.push(name);
  process.on("warning", warn);
  let runs = 0;
  const loop = new TestLoop(async (resting) => {
    await resting.rest(-5);
    runs++;
  }, -5);
  loop.wake();
  await until(() => runs > 3);
  await loop.close();
  await Bun.sleep(5);
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});
