// @long
/** A kill while bodies are packed, or taken out of their groups, loses and doubles nothing. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { expectConsistent } from "../../testing/consistency.ts";
import { effort } from "../../testing/engine.ts";
import { testProcess } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";
import { blockEventsUsual } from "./build-blocks.ts";
import { databaseFile } from "./directory.ts";

const events = 140_000;
const batchEvents = 1_000;
/** Events in the first block that is packed, at least. A few at its end stay in their rows. */
const packedMin = 60_000;
const withinMs = 300_000;
const kills = effort(8, 40);
const metricsToken = "token-of-a-metrics-test";

test("events are there once after each kill, and packing goes on", async () => {
  await using app = await testProcess({ metricsToken });
  for (let from = 0; from < events; from += batchEvents) {
    const body = Array.from({ length: batchEvents }, (_, index) => {
      const n = from + index;
      return { channel: `c${n % 4}`, name: `Paid ${n % 9}`, userId: `u${n % 900}`, tags: { n: String(n) } };
    });
    const response = await app.request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(201);
  }
  const recorded = await linesOf(app);
  expect(recorded.length).toBe(events);

  /** How many bodies are in groups, and how many of removed events still are. */
  const packed = () => {
    using database = new Database(databaseFile(app.config.dataDirectory), { readonly: true });
    const [groups] = database
      .query("SELECT coalesce(sum(events), 0), (SELECT count(*) FROM removed_bodies) FROM body_groups")
      .values() as [number, number][];
    return groups!;
  };
  /** Whether each block up to the newest whole one is packed. How many there are depends on when the first is built. */
  const isAllPacked = () => {
    using database = new Database(databaseFile(app.config.dataDirectory), { readonly: true });
    const [[unpacked, whole]] = database
      .query(
        `SELECT count(*) FILTER (WHERE packed = 0), count(*) FROM blocks
         WHERE events IS NULL OR from_ms <= (SELECT max(from_ms) FROM blocks WHERE events >= ?1)`,
      )
      .values(blockEventsUsual / 2) as [[number, number]];
    return whole > 0 && unpacked === 0;
  };
  const seen = new Set<number>();
  for (let n = 0; n < kills && !isAllPacked(); n++) {
    const [before] = packed();
    await until(() => packed()[0] > before || isAllPacked(), withinMs);
    await Bun.sleep(Math.random() * 200);
    await app.end("SIGKILL");
    seen.add(packed()[0]);
    await app.start();
    if (n % 4 === 3) expect(await linesOf(app)).toEqual(recorded);
  }
  // Some hit the packing.
  expect(seen.size).toBeGreaterThan(2);
  await until(isAllPacked, withinMs);
  expect(packed()[0]).toBeGreaterThan(packedMin);

  for (const user of ["u7", ...Array.from({ length: 10 }, (_, n) => `u7${n}`)])
    expect((await app.request(`/api/users/${user}`, { method: "DELETE" })).status).toBe(202);
  for (let n = 0; n < kills / 4; n++) {
    await Bun.sleep(Math.random() * 1_000);
    await app.end("SIGKILL");
    await app.start();
  }
  const gone = (line: string) => /"userId":"u7\d?"/.test(line);
  await until(async () => (await linesOf(app)).every((line) => !gone(line)) && packed()[1] === 0, withinMs);
  expect(await linesOf(app)).toEqual(recorded.filter((line) => !gone(line)));
  await app.end("SIGTERM");
  expect(await expectConsistent(app.config)).toBe(recorded.filter((line) => !gone(line)).length);
}, 900_000);

type App = Awaited<ReturnType<typeof testProcess>>;

async function linesOf(app: App): Promise<string[]> {
  const response = await app.request("/api/events", { headers: { accept: "application/x-ndjson" } });
  expect(response.status).toBe(200);
  return (await response.text()).split("\n").filter(Boolean);
}
