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

/** Without notifications, a node polls this often (storage/postgres/feed.ts). A lower median shows that they work. */
const lookMs = 1_000;
const events = 300;
/**
 * Far below what nodes can do, because tests run on busy machines; `npm run bench -- --postgres` measures it at 1,000 a
 * second.
 */
const everyMs = 5;

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
    const { median, slowest } = await delays(nodes);
    expect(median).toBeLessThan(100);
    expect(slowest).toBeLessThan(2 * lookMs);
  }, 30_000);

  // pgbouncer doesn't forward notifications in this mode, so nodes find new events by polling.
  test.if(hasPgbouncer)(
    "arrives within about a second through pgbouncer",
    async () => {
      const pgbouncer = await startPgbouncer(storage.databaseUrl!);
      const config = await testConfig({ ...storage, databaseUrl: pgbouncer.url });
      const others = await startNodes(config, 2, nodes[0]!.key);
      const { slowest } = await delays(others);
      expect(slowest).toBeLessThan(3 * lookMs);
      for (const node of others) await node.end("SIGTERM");
      await pgbouncer.remove();
    },
    30_000,
  );
});

/** Records events on the first node at a steady rate, and measures how long they take to a stream of the second. */
async function delays([one, other]: Node[]): Promise<{ median: number; slowest: number }> {
  using stream = await openStream(other!);
  const sentAtMs = new Map<string, number>();
  const found: number[] = [];
  const listening = (async () => {
    while (found.length < events) {
      const [event] = await stream.events(1);
      const sentMs = sentAtMs.get(event!.name);
      if (sentMs !== undefined) found.push(performance.now() - sentMs);
    }
  })();
  const posts: Promise<Response>[] = [];
  for (let n = 0; n < events; n++) {
    const name = `${crypto.randomUUID()}`;
    sentAtMs.set(name, performance.now());
    posts.push(
      one!.request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ channel: "c", name }),
      }),
    );
    await Bun.sleep(everyMs);
  }
  for (const response of await Promise.all(posts)) expect(response.status).toBe(201);
  await listening;
  found.sort((a, b) => a - b);
  return { median: found[found.length >> 1]!, slowest: found.at(-1)! };
}
