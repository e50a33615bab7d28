// @engines postgres
/**
 * Deliveries of several nodes on one database: each is sent by one node, and again by another if that one dies while
 * sending.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import pg from "pg";
import type { Delivery } from "../schemas/delivery.ts";
import { makeStorage, removeStorage, type TestStorage } from "../testing/engine.ts";
import { type Node, startNodes } from "../testing/nodes.ts";
import { pushService } from "../testing/push-service.ts";
import { testConfig, testPassword } from "../testing/test-app.ts";

describe("deliveries of two nodes", () => {
  let storage: TestStorage;
  let nodes: [Node, Node];
  let cookie: string;
  const service = pushService();

  beforeAll(async () => {
    storage = await makeStorage("postgres");
    nodes = (await startNodes(await testConfig(storage), 2)) as [Node, Node];
    cookie = await signIn(nodes[0]);
    const me = (await (await nodes[0].request("/api/me", { headers: { cookie } })).json()) as {
      vapidPublicKey: string;
    };
    const subscription = service.subscribe(me.vapidPublicKey);
    const created = await nodes[1].request("/api/destinations", {
      method: "POST",
      headers: { cookie, origin: nodes[1].address, "content-type": "application/json" },
      body: JSON.stringify({ kind: "browser", label: "Browser", subscription }),
    });
    expect(created.status).toBe(201);
  });
  afterAll(async () => {
    for (const node of nodes) await node.end("SIGKILL");
    await service.close();
    await removeStorage(storage);
  });

  async function signIn(node: Node): Promise<string> {
    const response = await node.request("/api/auth/sign-in/email", {
      method: "POST",
      headers: { "content-type": "application/json", origin: node.address },
      body: JSON.stringify({ email: "owner@example.com", password: testPassword }),
    });
    return response.headers.getSetCookie()[0]!.split(";")[0]!;
  }

  async function notify(node: Node, name: string): Promise<string> {
    const response = await node.request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channel: "c", name, notify: true }),
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { event: { id: string } }).event.id;
  }
  const titles = (from: number) =>
    service.received.slice(from).map(({ payload }) => (payload as { title: string }).title);

  async function deliveries(node: Node, id: string): Promise<Delivery[]> {
    const response = await node.request(`/api/events/${id}/deliveries`, { headers: { cookie } });
    return ((await response.json()) as { deliveries: Delivery[] }).deliveries;
  }

  test("each is sent once, by either node", async () => {
    const count = 60;
    const names = Array.from({ length: count }, (_, n) => `Event ${n}`);
    await Promise.all(names.map((name, n) => notify(nodes[n % 2]!, name)));
    for (let n = 0; n < count; n++) await service.next();
    // A duplicate would have arrived by now.
    await Bun.sleep(300);
    expect(titles(0).sort()).toEqual(names.sort());
  });

  test("what a node was sending when it died is sent by the other", async () => {
    const before = service.received.length;
    const holding = service.holdNext();
    const id = await notify(nodes[0], "Held");
    const gone = await holding;
    const dead = await findHolder(gone);
    const other = nodes[1 - dead]!;
    // As if the dead node's claim had expired. The other node looks when the next event arrives.
    await inDatabase("UPDATE deliveries SET next_attempt_at = 0 WHERE state = 'waiting'");
    await notify(other, "Next");
    for (let n = 0; n < 2; n++) await service.next();
    await Bun.sleep(300);
    expect(titles(before).sort()).toEqual(["Held", "Next"]);
    const sent = (await deliveries(other, id)).find(({ kind }) => kind === "browser");
    expect(sent).toMatchObject({ state: "delivered", attempts: 2 });
    await nodes[dead]!.start();
  });

  /** Kills the node that is sending, and returns its index. */
  async function findHolder(gone: () => Promise<void>): Promise<number> {
    for (const [index, node] of nodes.entries()) {
      await node.end("SIGKILL");
      const isHolder = await Promise.race([gone().then(() => true), Bun.sleep(500).then(() => false)]);
      if (isHolder) return index;
      await node.start();
    }
    throw new Error("Neither node was sending.");
  }

  async function inDatabase(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: storage.databaseUrl! });
    await client.connect();
    await client.query(sql);
    await client.end();
  }
});
