/** Users in a real browser: the list, a user's page with the journey, properties, and the erasure. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { longTest } from "../testing/long-test.ts";

const hostile = 'a/../b?c#d%2F "💰" <b>x</b> \u05d0\u05d1\u05d2 \u202e';
const dayMs = 86_400_000;

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  const at = (daysAgo: number) => Date.now() - daysAgo * dayMs;
  const tags = { plan: "pro" };
  await dashboard.post([
    { channel: "shop", name: "Signed up", userId: "ada@example.com", createdAt: at(9), tags },
    { channel: "shop", name: "Order placed", userId: "ada@example.com", createdAt: at(3), tags },
    { channel: "shop", name: "Order placed", userId: "ada@example.com", createdAt: at(3), tags },
    { channel: "shop", name: "Signed up", userId: "bob", createdAt: at(2) },
    { channel: "shop", name: "<i>Looked</i>", userId: hostile, createdAt: at(1) },
  ]);
  ({ page, complaints } = await openPage(await dashboard.newContext()));
  await page.goto(`${dashboard.address}/p/default`);
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const main = () => page.locator("main");
const userRow = (id: string) => page.getByRole("row").filter({ has: page.getByRole("link", { name: id }) });
const ids = () => page.getByRole("rowheader").allTextContents();
const journey = () => page.getByRole("region", { name: "Journey" });

test("users are listed in any order and found by a part of their ID", async () => {
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Users" }).click();
  // The list follows new events within seconds.
  await userRow(hostile).waitFor();
  expect(await ids()).toEqual([hostile, "bob", "ada@example.com"]);
  await expectAccessible("users", page);
  await page.getByLabel("Sort by").selectOption("Most active");
  await page.waitForURL(/sort=events/);
  await page.getByRole("row").nth(1).getByText("ada@example.com").waitFor();
  await page.getByLabel("Find users").fill("A");
  await userRow("bob").waitFor({ state: "detached" });
  expect((await ids()).toSorted()).toEqual([hostile, "ada@example.com"].toSorted());
  await page.getByLabel("Find users").fill("nobody");
  await page.getByText("No users found").waitFor();
  await page.getByRole("button", { name: "Show all users" }).click();
  await userRow("bob").waitFor();
});

test("a user's page shows what they did, with the gaps, and follows live", async () => {
  await userRow("ada@example.com").getByRole("link").click();
  await journey().getByText("6 days earlier").waitFor();
  expect(await journey().getByRole("listitem").count()).toBe(3);
  await page.getByRole("img", { name: /^3 events on 2 days/ }).waitFor();
  await expectAccessible("a user", page);
  await dashboard.post({ channel: "shop", name: "Order returned", userId: "ada@example.com" });
  await journey().getByRole("link", { name: "Order returned" }).waitFor();
  await page.getByRole("region", { name: "Events by name" }).getByText("Order returned").waitFor();
});

longTest("properties are edited, keep their types, and become columns", async () => {
  await page.getByRole("button", { name: "Edit properties" }).click();
  await page.getByLabel("Name", { exact: true }).fill("seats");
  await page.getByLabel("Value of seats").fill("5");
  await page.getByRole("button", { name: "Add property" }).click();
  await page.getByLabel("Name", { exact: true }).last().fill("phone");
  await page.getByLabel("Value of phone").fill("007");
  await expectAccessible("the properties dialog", page);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const response = await page.request.get(
    `${dashboard.address}/api/users/${encodeURIComponent("ada@example.com")}?project=default`,
  );
  expect((await response.json()).user.properties).toEqual({ seats: 5, phone: "007" });
  await page.getByRole("link", { name: "All users" }).click();
  await page.getByRole("columnheader", { name: "seats" }).waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "seats" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "seats" }).waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("columnheader", { name: "phone" }).waitFor();
  expect(await page.getByRole("columnheader", { name: "seats" }).count()).toBe(0);
  await page.getByLabel("Find users").fill("phone:007");
  await userRow("bob").waitFor({ state: "detached" });
  expect(await ids()).toEqual(["ada@example.com"]);
  await page.waitForURL(/q=phone:007/);
});

longTest("any ID has a page, which its events link to", async () => {
  await page.goto(`${dashboard.address}/p/default?q=user%3Abob`);
  await page.getByRole("article").getByRole("link", { name: "bob" }).click();
  await page.getByRole("heading", { level: 1, name: "bob" }).waitFor();
  await page.goto(`${dashboard.address}/p/default`);
  const row = page.getByRole("article").filter({ hasText: "<i>Looked</i>" });
  await row.getByRole("link", { name: hostile }).click();
  await page.getByRole("heading", { level: 1, name: hostile }).waitFor();
  await page.reload();
  await journey().getByRole("link", { name: "<i>Looked</i>" }).click();
  const facts = page.getByRole("complementary").or(page.getByRole("region"));
  await facts.getByRole("link", { name: hostile }).last().click();
  await page.getByRole("heading", { level: 1, name: hostile }).waitFor();
  await page.goto(`${dashboard.address}/p/default/users/unheard-of`);
  await page.getByText("Nothing is known about this user").waitFor();
});

test("an erasure shows its progress and its receipt", async () => {
  await page.goto(`${dashboard.address}/p/default/users/${encodeURIComponent(hostile)}`);
  await page.getByRole("button", { name: "Erase", exact: true }).click();
  await expectAccessible("the erase dialog", page);
  await page.getByLabel('Type "erase" to confirm').fill("erase");
  await page.getByRole("button", { name: "Erase user" }).click();
  await page.getByRole("heading", { name: "The user was erased" }).waitFor();
  await page.getByRole("progressbar", { name: "Erasure" }).waitFor();
  await main().getByText("Done: 1 event erased.").waitFor();
  await expectAccessible("the receipt", page);
  await page.getByRole("link", { name: "All users" }).last().click();
  await userRow("bob").waitFor();
  expect(await userRow(hostile).count()).toBe(0);
});

longTest("viewers change nothing; in the dark and on a phone, the pages are accessible", async () => {
  const viewer = await dashboard.openAs("viewer", "/p/default/users/bob");
  await viewer.getByRole("region", { name: "Journey" }).getByText("Signed up").waitFor();
  expect(await viewer.getByRole("button", { name: "Edit properties" }).count()).toBe(0);
  expect(await viewer.getByRole("button", { name: "Erase" }).count()).toBe(0);
  await viewer.emulateMedia({ colorScheme: "dark" });
  await viewer.setViewportSize({ width: 390, height: 844 });
  await expectAccessible("a user in the dark", viewer);
  await viewer.goto(`${dashboard.address}/p/default/users`);
  await viewer.getByRole("link", { name: "bob" }).waitFor();
  await expectAccessible("users in the dark", viewer);
  const overflow = await viewer.evaluate("document.documentElement.scrollWidth - innerWidth");
  expect(overflow).toBe(0);
  // Chromium logs the 404 of the unknown user.
  expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
});
