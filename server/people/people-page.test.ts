// @long
/** One person with several IDs in a real browser: the list, the page with all IDs, merging, and splitting off. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

const hostile = '"><img src=x onerror=alert(1)> \u05d0 \u202e';

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.post([
    { channel: "shop", name: "Prices viewed", userId: "visitor-7", createdAt: Date.now() - 86_400_000 },
    { channel: "shop", name: "Prices viewed", userId: hostile },
    { channel: "shop", name: "Paid", userId: "ada" },
    { channel: "shop", name: "Paid", userId: "bea" },
  ]);
  await identify({ userId: "ada", anonymousId: "visitor-7", properties: { plan: "pro" } });
  await identify({ userId: "bea", properties: { city: "Rome" } });
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

async function identify(body: object): Promise<void> {
  const response = await fetch(`${dashboard.address}/api/identify`, {
    method: "POST",
    headers: { "x-api-key": dashboard.key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
}

const ids = () => page.getByRole("region", { name: "IDs" });
const dialog = () => page.getByRole("dialog");
const events = () => page.getByRole("region", { name: "Journey" }).getByRole("listitem");

test("the list has one entry for a person, found by any ID", async () => {
  await page.goto(`${dashboard.address}/p/default/users`);
  const entry = page.getByRole("row").filter({ hasText: "ada" });
  await entry.getByText("2 IDs").waitFor();
  expect(await page.getByRole("rowheader").count()).toBe(3);
  await page.getByLabel("Find users").fill("visitor-7");
  await page.getByRole("row").filter({ hasText: "bea" }).waitFor({ state: "detached" });
  await entry.waitFor();
  await expectAccessible("users with several IDs", page);
});

test("the page shows all IDs, at the address of any, with their events", async () => {
  await page.goto(`${dashboard.address}/p/default/users/visitor-7`);
  await page.getByRole("heading", { name: "ada" }).waitFor();
  await ids().getByText("Joined by identify").waitFor();
  await events().nth(1).waitFor();
  expect(await events().count()).toBe(2);
  await dashboard.post({ channel: "shop", name: "Returned", userId: "visitor-7" });
  await events().filter({ hasText: "Returned" }).waitFor();
  await expectAccessible("a person with two IDs", page);
});

test("another user is found and merged, after what happens was said", async () => {
  await page.getByRole("button", { name: "Merge…" }).click();
  await dialog().getByLabel("Find a user").fill("onerror");
  await dialog().getByRole("button", { name: hostile }).click();
  await dialog().getByText("becomes a part of").waitFor();
  await expectAccessible("the dialog to merge", page);
  await dialog().getByRole("button", { name: "Merge users" }).click();
  await dialog().waitFor({ state: "detached" });
  await ids().getByText("3 IDs of one person").waitFor();
  await ids()
    .getByText(/^Merged/)
    .waitFor();
  await events().nth(3).waitFor();
});

test("two known users are merged only if somebody says that they are one person", async () => {
  await page.getByRole("button", { name: "Merge…" }).click();
  await dialog().getByLabel("Find a user").fill("bea");
  await dialog().getByRole("button", { name: /^bea/ }).click();
  const merge = dialog().getByRole("button", { name: "Merge users" });
  expect(await merge.isDisabled()).toBe(true);
  await dialog().getByLabel("They are the same person").check();
  await merge.click();
  await dialog().waitFor({ state: "detached" });
  await ids().getByText("4 IDs of one person").waitFor();
  await page.getByRole("region", { name: "Properties" }).getByText("Rome").waitFor();
});

test("an ID is split off again, with its events and properties", async () => {
  await ids().getByRole("button", { name: "Actions for bea" }).click();
  await page.getByRole("menuitem", { name: "Split off…" }).click();
  await dialog().getByText("becomes a user of its own again").waitFor();
  await expectAccessible("the dialog to split off", page);
  await dialog().getByRole("button", { name: "Split off" }).click();
  await dialog().waitFor({ state: "detached" });
  await ids().getByText("3 IDs of one person").waitFor();
  await page.getByRole("region", { name: "Properties" }).getByText("Rome").waitFor({ state: "detached" });
  await page.goto(`${dashboard.address}/p/default/users/bea`);
  await page.getByRole("region", { name: "Properties" }).getByText("Rome").waitFor();
  await events().first().waitFor();
  expect(await events().count()).toBe(1);
});

test("the erasure says that all IDs are erased", async () => {
  await page.goto(`${dashboard.address}/p/default/users/ada`);
  await page.getByRole("button", { name: "Erase" }).click();
  await dialog().getByText("by all 3 IDs").waitFor();
  await page.keyboard.press("Escape");
});

test("a secret for signatures is shown once", async () => {
  const created = await page.request.post(`${dashboard.address}/api/keys?project=default`, {
    data: { name: "Pages", kind: "publishable" },
    headers: { origin: dashboard.address },
  });
  expect(created.status()).toBe(201);
  await page.goto(`${dashboard.address}/p/default/keys`);
  await page.getByRole("button", { name: "Actions for Pages" }).click();
  await page.getByRole("menuitem", { name: "Secret for signatures…" }).click();
  await dialog().getByRole("button", { name: "Create secret" }).click();
  await dialog()
    .getByText(/^tdg_is_/)
    .waitFor();
  await expectAccessible("a new secret for signatures", page);
  await dialog().getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Actions for Pages" }).click();
  await page.getByRole("menuitem", { name: "Secret for signatures…" }).click();
  await dialog().getByText("stop working at once").waitFor();
  await page.keyboard.press("Escape");
});

test("viewers see the IDs and change nothing; in the dark and on a phone, the page is accessible", async () => {
  const viewer = await dashboard.openAs("viewer", "/p/default/users/ada");
  const listed = viewer.getByRole("region", { name: "IDs" });
  await listed.getByText("visitor-7").waitFor();
  expect(await viewer.getByRole("button", { name: "Merge…" }).count()).toBe(0);
  expect(await listed.getByRole("button").count()).toBe(0);
  await viewer.emulateMedia({ colorScheme: "dark" });
  await viewer.setViewportSize({ width: 390, height: 844 });
  await expectAccessible("a person in the dark", viewer);
  expect(await viewer.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
});

test("the feed of a user follows all IDs live, also those that are joined meanwhile", async () => {
  await dashboard.post({ channel: "shop", name: "Prices viewed", userId: "visitor-9" });
  await identify({ userId: "fay", anonymousId: "visitor-9" });
  const feed = page.getByRole("main");
  for (const filter of ["userId=fay", `q=${encodeURIComponent("user:visitor-9 OR name:none")}`]) {
    await page.goto(`${dashboard.address}/p/default?${filter}`);
    await feed.getByText("Prices viewed").first().waitFor();
    const visitor = `visitor of ${filter}`;
    await dashboard.post([
      { channel: "shop", name: `By the main ID, ${filter}`, userId: "fay" },
      { channel: "shop", name: `By another ID, ${filter}`, userId: "visitor-9" },
      { channel: "shop", name: `By somebody else, ${filter}`, userId: "gil" },
    ]);
    await feed.getByText(`By the main ID, ${filter}`).waitFor();
    await feed.getByText(`By another ID, ${filter}`).waitFor();
    await identify({ userId: "fay", anonymousId: visitor });
    await dashboard.post({ channel: "shop", name: `By a new ID, ${filter}`, userId: visitor });
    await feed.getByText(`By a new ID, ${filter}`).waitFor();
    expect(await feed.getByText(`By somebody else, ${filter}`).count()).toBe(0);
  }
  await page.goto(`${dashboard.address}/p/default?q=${encodeURIComponent("-user:fay")}`);
  await feed.getByText("By somebody else").first().waitFor();
  await dashboard.post([
    { channel: "shop", name: "By an excluded ID", userId: "visitor-9" },
    { channel: "shop", name: "By anybody", userId: "gil" },
  ]);
  await feed.getByText("By anybody").waitFor();
  expect(await feed.getByText("By an excluded ID").count()).toBe(0);
});

test("nothing complained", () => {
  expect(complaints).toEqual([]);
});
