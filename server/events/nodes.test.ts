// @engines postgres
/**
 * Live streams of several nodes on one database: events recorded on one node reach the streams of the other at once.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeStorage, removeStorage, type TestStorage } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { type Node, startNodes } from "../testing/nodes.ts";
import { hasPgbouncer, startPgbouncer } from "../testing/pgbouncer.ts";
import { testConfig } from "../testing/test-app.ts";

/** Without notifications, a node polls this often (storage/postgres/feed.ts). */
const lookMs = 1_000;
const events = 10;

describe("an event recorded on one node", () => {
  let storage: TestStorage;
  let nodes: Node[] = [];
  beforeAll(async () => {
    storage = await makeStorage("postgres");
    nodes = await startNodes(await testConfig(storage), 2);
  }, 60_000);
  afterAll(async () => {
    for (const node of nodes) await node.end("SIGTERM");
    await removeStorage(storage);
  }, 30_000);

  test("reaches the other's live streams at once", async () => {
    // An event that is sent right after a poll would wait for the next one: each of them, however fast the machine is.
    expect(Math.min(...(await delays(nodes)))).toBeLessThan(lookMs / 2);
  });

  // pgbouncer doesn't forward notifications in this mode, so nodes find new events by polling.
  test.if(hasPgbouncer)(
    "arrives through pgbouncer",
    async () => {
      const pgbouncer = await startPgbouncer(storage.databaseUrl!);
      const config = await testConfig({ ...storage, databaseUrl: pgbouncer.url });
      const others = await startNodes(config, 2, nodes[0]!.key);
      expect(await delays(others)).toHaveLength(events);
      for (const node of others) await node.end("SIGTERM");
      await pgbouncer.remove();
    },
    30_000,
  );
});

/** Records one event after another on the first node, and measures how long each takes to a stream of the second. */
async function delays([one, other]: Node[]): Promise<number[]> {
  using stream = await openStream(other!);
  const found: number[] = [];
  while (found.length < events) {
    const sentMs = performance.now();
    const response = await one!.request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channel: "c", name: `${found.length}` }),
    });
    expect(response.status).toBe(201);
    await stream.events(1);
    found.push(performance.now() - sentMs);
  }
  return found;
}
