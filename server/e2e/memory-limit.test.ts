// @long
/** A server that may use 256 MB of memory, as in a small container, under everything that people do with it at once. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { every } from "../testing/every.ts";
import { memoryLimit } from "../testing/memory-limit.ts";
import { startLoad } from "../testing/mixed-load.ts";
import { fromSource, testProcess } from "../testing/server-process.ts";

const limitMb = 256;
const eventsBefore = effort(100_000, 1_000_000);
const loadMs = effort(15_000, 180_000);
const batchEvents = 1_000;

const group = memoryLimit(limitMb);
if (!group)
  console.log("The test of a memory limit is left out: it needs root on Linux, to make a control group.");
afterAll(() => group?.[Symbol.asyncDispose]());

const dayMs = 86_400_000;
const oldest = Date.now() - 90 * dayMs;
/** A part of these, so that a chart is drawn in time on a machine that does all else at once. */
const range = `from=${oldest}&to=${oldest + 10 * dayMs}`;

/** An array of events of the last ninety days, with users, tags and numbers. */
function batchOf(n: number, more: object = {}): object[] {
  return Array.from({ length: batchEvents }, (_, index) => {
    const at = n * batchEvents + index;
    return {
      channel: `channel ${at % 12}`,
      name: `${["Order placed", "Signed up", "Invoice paid", "Job failed"][at % 4]}`,
      userId: `user ${(at * 7_919) % 60_000}`,
      createdAt: oldest + ((at * 104_729) % (90 * dayMs)),
      tags: { amount: `${at % 977}`, country: `c${at % 40}`, request: `r${at}` },
      ...more,
    };
  });
}

test.skipIf(!group)(
  `at most ${limitMb} MB are enough for a server under load with ${eventsBefore.toLocaleString("en")} events`,
  async () => {
    const dataDirectory = join(group!.files, "data");
    await using app = await testProcess({ dataDirectory }, group!.around(fromSource));
    const startMs = performance.now();
    const seconds = () => Math.round((performance.now() - startMs) / 1_000);
    let peakMb = 0;
    let isOver = false;
    using _sampling = every(50, () => {
      peakMb = Math.max(peakMb, app.memoryMb());
    });
    const sendBatch = async (events: object[]) => {
      const response = await app.request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(events),
      });
      if (response.status !== 200 && response.status !== 201)
        throw new Error(`${response.status}: ${await response.text()}`);
      await response.bytes();
    };
    for (let n = 0; n < eventsBefore / batchEvents; n += 2)
      await Promise.all([sendBatch(batchOf(n)), sendBatch(batchOf(n + 1))]);
    console.log(`Stored ${eventsBefore} events in ${seconds()} s.`);

    using _working = {
      [Symbol.dispose]() {
        isOver = true;
      },
    };
    const done: Record<string, number> = {};
    /** Repeats an action until the end. */
    const repeating = (name: string, act: (n: number) => Promise<void>) =>
      (async () => {
        for (let n = 0; !isOver; n++) {
          await act(n);
          done[name] = n + 1;
        }
      })();
    const read = async (path: string, headers: Record<string, string> = {}) => {
      const response = await app.request(path, { headers });
      let bytes = 0;
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      for await (const part of response.body!) bytes += (part as Uint8Array).length;
      return bytes;
    };
    using load = startLoad([app], { id: 8, anonymous: 8, batch: 2, idempotent: 4 });
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(app)));
    const large = { description: "word ".repeat(400) };
    const searches = [
      "Order",
      "country=c7",
      'user:"user 17"',
      "word",
      "amount>500",
      "fail* OR paid",
      "nowhere",
    ];
    const charts = ["split=name", "split=tag.country", "metric=sum&tag=amount", "metric=users"];
    const working = [
      repeating("batches", (n) => sendBatch(batchOf(n, large))),
      repeating("searches", (n) =>
        read(`/api/events?limit=100&q=${encodeURIComponent(searches[n % searches.length]!)}`).then(() => {}),
      ),
      repeating("exports", (n) =>
        read("/api/events", {
          accept: ["text/csv", "application/x-ndjson", "application/json"][n % 3]!,
        }).then(() => {}),
      ),
      repeating("charts", (n) =>
        read(`/api/stats?by=day&${range}&${charts[n % charts.length]}`).then(() => {}),
      ),
      repeating("users", () => read("/api/users?limit=100").then(() => {})),
    ];
    const all = Promise.all(working);
    all.catch(() => {});
    await Promise.race([load.during(loadMs), all]);
    isOver = true;
    console.log(`After ${seconds()} s, what has begun ends: ${JSON.stringify(done)}`);
    await all;
    const { acknowledged } = await load.stop();
    for (const stream of streams) stream.close();
    console.log(`At most ${Math.round(peakMb)} MB. ${acknowledged.size} events, and ${JSON.stringify(done)}`);
    expect(acknowledged.size).toBeGreaterThan(0);
    expect(group!.killed()).toBe(0);
    expect(peakMb).toBeLessThan(limitMb);
  },
  // Beside other load it took more than 23 minutes.
  loadMs + effort(120_000, 3_600_000),
);
