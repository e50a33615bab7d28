import { afterAll, beforeAll, expect, test } from "bun:test";
import { expectAccessible } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await openDashboard();
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

test("the audit log shows changes in sentences, filtered by kind and person, and can be saved", async () => {
  const page = await dashboard.open("/p/default/settings");
  const created = page.request.post(`${dashboard.address}/api/channels?project=default`, {
    data: { name: "audited" },
    headers: { origin: dashboard.address },
  });
  expect((await created).status()).toBe(201);
  const key = await page.request.post(`${dashboard.address}/api/keys?project=default`, {
    data: { name: "Audited key", scopes: ["ingest"] },
    headers: { origin: dashboard.address },
  });
  expect(key.status()).toBe(201);
  const rule = await page.request.post(`${dashboard.address}/api/rules?project=default`, {
    data: {
      name: "Audited rule",
      q: "channel:audited",
      when: { type: "burst", minutes: 5 },
      to: { everyone: true, members: [], destinations: [] },
    },
    headers: { origin: dashboard.address },
  });
  expect(rule.status()).toBe(201);
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.waitForURL(/\/audit$/);
  const entries = page.getByRole("main").getByRole("listitem");
  await entries.filter({ hasText: "created the channel audited" }).waitFor();
  await entries.filter({ hasText: "created the API key Audited key" }).waitFor();
  await entries.filter({ hasText: "scopes: ingest" }).waitFor();
  await entries.filter({ hasText: "when: burst, minutes 5 · to: everyone" }).waitFor();
  await expectAccessible("the audit log", page);

  await page.getByLabel("Show", { exact: true }).selectOption("Channels");
  await entries.filter({ hasText: "API key" }).waitFor({ state: "detached" });
  expect(await entries.count()).toBe(1);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  expect((await download).suggestedFilename()).toBe("audit.csv");

  await page.getByLabel("By", { exact: true }).fill("nobody of this name");
  await page.getByText("No matching entries").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await entries.filter({ hasText: "created the API key Audited key" }).waitFor();
  await page.context().close();
});
