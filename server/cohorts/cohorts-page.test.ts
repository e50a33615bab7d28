// @long
/** Cohorts in a real browser: the form that counts people, a cohort's page, its search, and "Save as cohort". */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

const dayMs = 86_400_000;

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  const at = (daysAgo: number) => Date.now() - daysAgo * dayMs;
  await dashboard.post([
    { channel: "shop", name: "Signed up", userId: "ada", createdAt: at(9) },
    { channel: "shop", name: "Order placed", userId: "ada", createdAt: at(3) },
    { channel: "shop", name: "Order placed", userId: "ada", createdAt: at(2) },
    { channel: "shop", name: "Signed up", userId: "bob", createdAt: at(2) },
  ]);
  ({ page, complaints } = await openPage(await dashboard.newContext()));
  await page.goto(`${dashboard.address}/p/default/users`);
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const form = () => page.getByRole("dialog");
const preview = () => form().getByRole("region", { name: "Preview" });

test("a cohort is made in a form that counts people while one edits", async () => {
  await page.getByRole("link", { name: "Cohorts", exact: true }).click();
  await page.getByText("No cohorts yet").waitFor();
  await page.getByRole("button", { name: "New cohort" }).click();
  await form().getByLabel("Name", { exact: true }).fill("Regulars");
  await form().getByLabel("Events", { exact: true }).fill('name:"Order placed"');
  await preview().getByText("1 person of 2").waitFor();
  await form().getByLabel("At least so many times").fill("3");
  await preview().getByText("0 people of 2").waitFor();
  await form().getByLabel("At least so many times").fill("2");
  await preview().getByText("1 person of 2").waitFor();
  await preview().getByText("ada", { exact: true }).waitFor();
  await form().getByRole("button", { name: "Add condition" }).click();
  await form().getByLabel("Condition 2", { exact: true }).selectOption("Last seen");
  await form().getByLabel("Days", { exact: true }).fill("5");
  await expectAccessible("the form of a cohort", page);
  await form().getByRole("button", { name: "Create cohort" }).click();
  const row = page.getByRole("row").filter({ hasText: "Regulars" });
  await row
    .getByText('did name:"Order placed" at least 2 times in 30 days and last seen in 5 days')
    .waitFor();
  await row.getByRole("cell", { name: "People: 1", exact: true }).waitFor();
  await expectAccessible("cohorts", page);
});

test("its page lists its people, and leads to their events, which follow live", async () => {
  await page.getByRole("link", { name: "Regulars" }).click();
  await page.getByRole("rowheader").getByText("ada").waitFor();
  await expectAccessible("a cohort", page);
  await page.getByRole("link", { name: "Their events" }).click();
  await page.waitForURL(/q=cohort/);
  await page.getByText("Order placed").first().waitFor();
  expect(await page.getByText("bob").count()).toBe(0);
  await dashboard.post({ channel: "shop", name: "Seen by all", userId: "bob" });
  await dashboard.post({ channel: "shop", name: "Seen of a regular", userId: "ada" });
  await page.getByText("Seen of a regular").first().waitFor();
  expect(await page.getByText("Seen by all").count()).toBe(0);
});

test("it is edited, and deleted when nothing names it", async () => {
  await page.goto(`${dashboard.address}/p/default/cohorts`);
  await chooseAction(page, "Regulars", "Edit…");
  await form().getByLabel("Name", { exact: true }).fill("Good customers");
  await form().getByRole("button", { name: "Remove condition 2" }).click();
  await form().getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "Good customers" }).waitFor();
  await chooseAction(page, "Good customers", "Delete…");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No cohorts yet").waitFor();
});

test("a search for users, and the people behind a number, are saved as a cohort", async () => {
  await page.goto(`${dashboard.address}/p/default/users`);
  await page.getByLabel("Find users").fill("ada");
  await page.getByRole("button", { name: "Save as cohort" }).click();
  await preview().getByText("1 person of 2").waitFor();
  await form().getByLabel("Name", { exact: true }).fill("Found");
  await form().getByRole("button", { name: "Create cohort" }).click();
  await page.getByRole("heading", { name: "Found" }).waitFor();
  await page.getByRole("rowheader").getByText("ada").waitFor();

  await page.goto(`${dashboard.address}/p/default/who?of=events&name=Signed+up&range=7d`);
  await page.getByRole("button", { name: "Save as cohort" }).click();
  await preview().getByText("1 person of 2").waitFor();
  expect(await form().getByLabel("Events", { exact: true }).inputValue()).toBe('name:"Signed up"');
  await form().getByLabel("Name", { exact: true }).fill("Signed up");
  await form().getByRole("button", { name: "Create cohort" }).click();
  await page.getByRole("rowheader").getByText("bob").waitFor();
  expect(complaints).toEqual([]);
});
