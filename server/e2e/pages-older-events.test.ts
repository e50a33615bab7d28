// @engines clickhouse
/** What people see of events that moved to ClickHouse, also while it can't be read. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type Running, serve } from "../serve.ts";
import { clickHouseProxy, wrongPassword } from "../testing/clickhouse-proxy.ts";
import { testPasswords } from "../testing/test-app.ts";
import { openDashboard, type TestDashboard } from "./browser/dashboard.ts";

const hourMs = 3_600_000;

let origin: string;
const proxy = clickHouseProxy(() => origin);
let dashboard: TestDashboard;
let running: Running;

beforeAll(async () => {
  dashboard = await openDashboard({
    async start(config) {
      const address = config.clickhouseUrl!;
      origin = new URL(address).origin;
      running = await serve({ ...config, clickhouseUrl: proxy.url(address) }, { passwords: testPasswords });
      return running;
    },
  });
  for (let n = 0; n < 10; n++) await dashboard.post({ channel: "orders", name: `Old ${n}` });
  // As if hours passed: they move, and are deleted in PostgreSQL.
  for (const hours of [2, 4, 6])
    await running.store.events.indexBlocks(async () => {}, Date.now() + hours * hourMs);
  for (let n = 0; n < 3; n++) await dashboard.post({ channel: "orders", name: `New ${n}` });
});
afterAll(async () => {
  proxy.answer = () => undefined;
  await dashboard?.[Symbol.asyncDispose]();
  proxy[Symbol.dispose]();
});
beforeEach(() => {
  proxy.answer = () => undefined;
});

const article = (page: Page, name: string) => page.getByRole("article").filter({ hasText: name });

test("the feed says where older events would be that they can't be read, and reads them once they can", async () => {
  proxy.answer = () => wrongPassword();
  const page = await dashboard.open("/p/default");
  await article(page, "New 0").waitFor();
  // Above the feed, the histogram says the same.
  const line = page.getByRole("alert").last();
  await line.getByText("Older events are in ClickHouse, which refuses to answer.").waitFor();
  expect(await article(page, "Old 9").count()).toBe(0);
  proxy.answer = () => undefined;
  await line.getByRole("button", { name: "Retry" }).click();
  await article(page, "Old 0").waitFor();
  expect(await article(page, "New 2").count()).toBe(1);
});

test("the server's status says what is in ClickHouse, and why it can't be read", async () => {
  const page = await dashboard.open("/status");
  const section = page
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: "ClickHouse" }) })
    .last();
  await section.getByText("10 events in 1 block").waitFor();
  expect(await section.innerText()).toContain("Can be read");
  expect(await section.innerText()).toContain("3 events, the first from");
  proxy.answer = () => wrongPassword();
  await page.reload();
  await section.getByText("Can't be read").waitFor();
  expect(await section.innerText()).toContain("password is incorrect");
});
