// @engines clickhouse
/** Tidings and ClickHouse are killed again and again while events are recorded and shipped. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { createProject } from "../../projects/projects.ts";
import { startClickHouse, type TestClickHouse } from "../../testing/clickhouse.ts";
import { effort, makeTables, testWatch } from "../../testing/engine.ts";
import { type TestDatabase, testDatabase } from "../../testing/postgres.ts";
import { idOf, shippingOptions } from "../../testing/shipping-child.ts";
import { openPostgresStore } from "../postgres/index.ts";
import { openClickHouse } from "./index.ts";

const kills = effort(16, 100);
/** Events that are sent again after each kill: among them some that were shipped and cleared. */
const repeated = 200;

let clickHouse: TestClickHouse;
let database: TestDatabase;
let clickHouseUrl: string;
beforeAll(async () => {
  clickHouse = await startClickHouse();
  clickHouseUrl = await clickHouse.database();
  database = await testDatabase(makeTables);
});
afterAll(async () => {
  await clickHouse?.remove();
  await database?.drop();
});

const open = () =>
  openPostgresStore(
    { url: database.url, connections: 3 },
    testWatch,
    undefined,
    undefined,
    openClickHouse(clickHouseUrl, shippingOptions),
  );

/** Records events from a number on until it is killed. Returns how many were acknowledged. */
async function recordUntilKilled(
  projectId: number,
  from: number,
  ms: number,
  alsoClickHouse: boolean,
): Promise<number> {
  const child = Bun.spawn(
    [
      "bun",
      join(import.meta.dir, "../../testing/shipping-child.ts"),
      database.url,
      clickHouseUrl,
      `${projectId}`,
      `${from}`,
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const errors = new Response(child.stderr).text();
  let output = "";
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const read = (async () => {
    for await (const chunk of child.stdout) {
      output += new TextDecoder().decode(chunk);
      begin();
    }
    begin();
  })();
  await began;
  await Bun.sleep(ms);
  if (alsoClickHouse) await clickHouse.kill();
  child.kill("SIGKILL");
  await child.exited;
  await read;
  if (alsoClickHouse) await clickHouse.start();
  expect(await errors).toBe("");
  const lines = output.split("\n").slice(1, -1);
  return lines.length === 0 ? from : Number(lines.at(-1));
}

test(
  `after ${kills} kills, each event is found once`,
  async () => {
    let store = await open();
    const projectId = (await createProject(store.control, "Test", null)).id;
    await store.close();

    let acknowledged = 0;
    for (let kill = 0; kill < kills; kill++) {
      const ms = Math.random() * 1_500;
      const from = Math.max(0, acknowledged - repeated);
      acknowledged = Math.max(acknowledged, await recordUntilKilled(projectId, from, ms, kill % 3 === 2));
    }

    store = await open();
    const shipAll = () => store.events.indexBlocks(async () => {}, Date.now() + 1_000);
    await Bun.sleep(shippingOptions.leaseMs);
    await shipAll();
    const listed: string[] = [];
    let text = "";
    for await (const chunk of store.events.stream({ projectId, filter: {}, order: "asc", format: "ndjson" }))
      text += new TextDecoder().decode(chunk);
    for (const line of text.split("\n").slice(0, -1)) listed.push((JSON.parse(line) as { id: string }).id);
    expect(new Set(listed).size).toBe(listed.length);
    const found = new Set(listed);
    const lost = Array.from({ length: acknowledged }, (_, n) => idOf(n)).filter((id) => !found.has(id));
    expect(lost).toEqual([]);
    expect(acknowledged).toBeGreaterThan(kills);
    const nowMs = Date.now();
    const counted = await store.events.count({
      projectId,
      filter: { userId: "u" },
      bounds: [0, nowMs + 86_400_000],
      series: 0,
    });
    expect(counted!.all).toEqual([listed.length]);
    await store.close();
  },
  // Each kill takes some seconds.
  kills * 15_000,
);
