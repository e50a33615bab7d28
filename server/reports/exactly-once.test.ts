// @engines sqlite, postgres
// @long
/** Reports of servers that are killed, and of two nodes on one database: each time is one delivery. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Config } from "../config/config.ts";
import type { Report } from "../schemas/report.ts";
import type { Store } from "../storage/store.ts";
import { effort, engine, removeStorage } from "../testing/engine.ts";
import { type Node, startNodes } from "../testing/nodes.ts";
import { openTestStore, testConfig } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let config: Config;
let nodes: Node[];
let store: Store;
beforeEach(async () => {
  config = await testConfig();
  nodes = await startNodes(config, engine === "postgres" ? 2 : 1);
  store = await openTestStore(config);
});
afterEach(async () => {
  for (const node of nodes) await node.end("SIGKILL");
  await store.close();
  await removeStorage(config);
});

async function call<Result>(path: string, body?: object, node = nodes[0]!): Promise<Result> {
  const response = await node.request(path, {
    ...(body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  expect(response.ok).toBeTrue();
  return (await response.json()) as Result;
}

test("a report that is due is one delivery, whichever node is killed", async () => {
  const { boards } = await call<{ boards: { id: string }[] }>("/api/boards");
  const { destination } = await call<{ destination: { id: string } }>("/api/project-destinations", {
    ...{ kind: "webhook", name: "Nobody", settings: { url: "http://127.0.0.1:9/hook" } },
  });
  const schedule = { every: "day", at: "08:00", timeZone: "UTC" };
  const create = async (node = nodes[0]!) =>
    (
      await call<{ report: Report }>(
        "/api/reports",
        { board: boards[0]!.id, destination: destination.id, schedule },
        node,
      )
    ).report;
  const reports = [];
  for (let each = 0; each < 20; each++) reports.push(await create());
  const rounds = effort(4, 10);
  for (let round = 1; round <= rounds; round++) {
    await store.control
      .updateTable("reports")
      .set({ dueAt: Date.now() })
      .where(
        "id",
        "in",
        reports.map(({ id }) => id),
      )
      .execute();
    // A new one wakes each node.
    const waking = nodes.map((node) => create(node).catch(() => null));
    // In every other round both work, and none is killed.
    const isKilled = round % 2 === 0;
    if (isKilled) {
      await Bun.sleep(round * 10);
      await nodes[0]!.end("SIGKILL");
    }
    await Promise.all(waking);
    if (isKilled) await nodes[0]!.start();
    await until(async () => {
      const due = await store.control
        .selectFrom("reports")
        .select("id")
        .where("dueAt", "<=", Date.now())
        .execute();
      return due.length === 0;
    });
  }
  const rows = await store.control
    .selectFrom("deliveries")
    .select("notification")
    .where("notification", "is not", null)
    .execute();
  const made = Map.groupBy(rows, ({ notification }) => JSON.parse(notification!).report as string);
  for (const { id } of reports) expect([id, made.get(id)?.length]).toEqual([id, rounds]);
}, 120_000);
