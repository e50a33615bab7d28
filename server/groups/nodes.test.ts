// @engines postgres
/** Groups on two nodes with one database: what one changes, the other finds at once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { EventList } from "../event/event.ts";
import type { Stats } from "../schemas/stats.ts";
import { makeStorage, removeStorage, type TestStorage } from "../testing/engine.ts";
import { type Node, startNodes } from "../testing/nodes.ts";
import { testConfig } from "../testing/test-app.ts";

let storage: TestStorage;
let nodes: Node[] = [];
beforeAll(async () => {
  storage = await makeStorage("postgres");
  nodes = await startNodes(await testConfig(storage), 2);
});
afterAll(async () => {
  for (const node of nodes) await node.end("SIGTERM");
  await removeStorage(storage);
});

async function send(node: Node, method: string, path: string, body?: object): Promise<void> {
  const response = await node.request(path, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(`${response.status} ${await response.text()}`).toStartWith("20");
}

/** The names of ACME's events as a node finds them, and how many it counts in a split. */
async function eventsOfAcme(node: Node): Promise<[names: string[], counted: number]> {
  const listed = await node.request("/api/events?q=company:acme&order=asc");
  const counted = await node.request("/api/stats?split=group.company");
  const { events } = (await listed.json()) as EventList;
  const { series } = (await counted.json()) as Stats;
  return [events.map(({ name }) => name), series.find(({ value }) => value === "acme")?.total ?? 0];
}

test("a membership of one node counts in searches and splits of the other", async () => {
  const [one, other] = nodes as [Node, Node];
  for (const [name, userId] of [
    ["Signed up", "ada"],
    ["Opened", "bob"],
  ])
    await send(one, "POST", "/api/events", { channel: "shop", name, userId });
  await send(one, "POST", "/api/groups", { type: "company", id: "acme", userId: "ada" });
  expect(await eventsOfAcme(other)).toEqual([["Signed up"], 1]);
  // The other one has read the members by now.
  await send(one, "POST", "/api/groups", { type: "company", id: "acme", userId: "bob" });
  expect(await eventsOfAcme(other)).toEqual([["Signed up", "Opened"], 2]);
  await send(other, "DELETE", "/api/groups/company/acme/members/ada");
  expect(await eventsOfAcme(one)).toEqual([["Opened"], 1]);
  await send(other, "DELETE", "/api/groups/company/acme");
  expect(await eventsOfAcme(one)).toEqual([[], 0]);
});
