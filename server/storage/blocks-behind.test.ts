// @long
// @engines sqlite, postgres
/** How soon the block index has what was recorded, and what the server does afterwards. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { testProcess } from "../testing/server-process.ts";
import { until } from "../testing/until.ts";

const events = 300_000;
const batchEvents = 1_000;
/** The newest events get a block once there are so many of them. */
const newestMax = 8_192;
const metricsToken = "token-of-a-metrics-test";
/** More than the longest time between two looks of a timer. */
const idleMs = 70_000;
const idleShareMax = 0.02;
const lookEveryMs = 5_000;
/** The share of a core that more than looks for work takes. */
const workingShareMin = 0.05;
const withinMs = 600_000;

const words = [
  "order",
  "paid",
  "card",
  "late",
  "sent",
  "mail",
  "host",
  "disk",
  "user",
  "plan",
  "left",
  "node",
];

/** Text of this many characters, different for each event. */
function textOf(n: number, characters: number): string {
  let text = "";
  for (let seed = n + 1; text.length < characters; ) {
    seed = (seed * 48_271) % 2_147_483_647;
    text += `${words[seed % words.length]}${seed % 5 === 0 ? seed % 100_000 : ""} `;
  }
  return text.slice(0, characters);
}

const sizes = {
  /** A hundred bytes of JSON. */
  small: (n: number) => ({ channel: `c${n % 12}`, name: "Paid", userId: `u${n % 9_000}` }),
  /** Nine hundred. */
  large: (n: number) => ({
    channel: `channel ${n % 12}`,
    name: `Order ${n % 300} placed`,
    userId: `user ${(n * 7_919) % 60_000}`,
    description: textOf(n, 700),
    tags: {
      amount: `${(n * 31) % 10_000}`,
      country: `country ${n % 40}`,
      request: `r${n.toString(36)}`,
      path: `/shops/${n % 700}/orders/${n}`,
      plan: ["free", "pro", "team"][n % 3]!,
    },
  }),
};

describe.each(["large", "small"] as const)("after many %s events", (size) => {
  let app: Awaited<ReturnType<typeof testProcess>>;
  beforeAll(async () => {
    app = await testProcess({ metricsToken });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  async function metric(name: string): Promise<number> {
    const response = await app.request("/metrics", { headers: { authorization: `Bearer ${metricsToken}` } });
    const text = await response.text();
    const value = new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1];
    if (value === undefined) throw new Error(`${response.status}: ${text}`);
    return Number(value);
  }

  async function post(from: number): Promise<void> {
    const body = JSON.stringify(Array.from({ length: batchEvents }, (_, n) => sizes[size](from + n)));
    const response = await app.request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
    await response.bytes();
  }

  test("all but the newest are in blocks", async () => {
    for (let from = 0; from < events; from += batchEvents) await post(from);
    const startMs = performance.now();
    await until(async () => (await metric("tidings_unindexed_events")) < newestMax, withinMs);
    console.log(`In blocks ${Math.round((performance.now() - startMs) / 1_000)} s after the last.`);
  }, 1_200_000);

  test("and then the server is idle, and writes nothing", async () => {
    const written = () => writtenBytes(app.pid);
    const startMs = performance.now();
    // The activity of users follows the events. On PostgreSQL it is the database that writes.
    for (let busyMs = startMs; performance.now() - busyMs < idleMs / 2; ) {
      if (performance.now() - startMs > withinMs) throw new Error("It goes on working.");
      const last = { bytes: written(), processorMs: app.processorMs() };
      await Bun.sleep(lookEveryMs);
      const share = (app.processorMs() - last.processorMs) / lookEveryMs;
      if (written() !== last.bytes || share > workingShareMin) busyMs = performance.now();
    }
    const before = { bytes: written(), processorMs: app.processorMs() };
    await Bun.sleep(idleMs);
    expect(written() - before.bytes).toBe(0);
    const share = (app.processorMs() - before.processorMs) / idleMs;
    console.log(`Idle at ${(share * 100).toFixed(2)}% of a core.`);
    expect(share).toBeLessThan(idleShareMax);
  }, 1_200_000);
});

/** What a process has written to the disk (proc_pid_io(5)). */
function writtenBytes(pid: number): number {
  const file = `/proc/${pid}/io`;
  if (!existsSync(file)) return 0;
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(file, "utf8"))![1]);
}
