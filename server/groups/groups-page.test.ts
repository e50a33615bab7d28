// @long
/** Groups in a real browser: the list, one group, a user's page with groups and notes, and what happened before an event. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  const at = (minutesAgo: number) => Date.now() - minutesAgo * 60_000;
  await dashboard.post([
    { channel: "shop", name: "Prices viewed", userId: "visitor-1", createdAt: at(9) },
    { channel: "shop", name: "Signed up", userId: "ada", createdAt: at(8) },
    { channel: "shop", name: "Order placed", userId: "ada", createdAt: at(7) },
    { channel: "shop", name: "Signed up", userId: "bob", createdAt: at(6) },
    { channel: "billing", name: "Invoice paid", tags: { company: "acme" }, createdAt: at(5) },
  ]);
  ({ page, complaints } = await openPage(await dashboard.newContext()));
  await page.goto(`${dashboard.address}/p/default/users`);
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

const dialog = () => page.getByRole("dialog");
const region = (name: string) => page.getByRole("region", { name, exact: true });

test("a company is created, gets properties and people, and shows what they did", async () => {
  await page.getByRole("link", { name: "Companies", exact: true }).click();
  await page.getByText("None yet").waitFor();
  await expectAccessible("no companies", page);
  await page.getByRole("button", { name: "New group" }).click();
  await dialog().getByLabel("ID", { exact: true }).fill("acme");
  await dialog().getByLabel("Name", { exact: true }).fill("ACME Inc.");
  await expectAccessible("the form of a group", page);
  await dialog().getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "ACME Inc." }).waitFor();
  // The event that names it belongs to it already.
  await region("Last events").getByText("Invoice paid").waitFor();
  await region("People").getByText("Nobody yet").waitFor();
  await region("People").getByRole("button", { name: "Add" }).click();
  await dialog().getByLabel("User ID").fill("ada");
  await dialog().getByRole("button", { name: "Add" }).click();
  await region("People").getByRole("link", { name: "ada" }).waitFor();
  await region("Last events").getByText("Order placed").waitFor();
  await region("Properties").getByRole("button", { name: "Edit properties" }).click();
  await dialog().getByRole("button", { name: "Add property" }).click();
  await dialog().getByLabel("Name", { exact: true }).last().fill("plan");
  await dialog().getByLabel("Value of plan").fill("team");
  await dialog().getByRole("button", { name: "Save" }).click();
  await region("Properties").getByText("team").waitFor();
  await region("Properties").getByText("ACME Inc.").waitFor();
  await expectAccessible("a company", page);
});

test("its search shows the events of its people in the feed, live", async () => {
  await page.getByRole("link", { name: "Open in feed" }).click();
  await page.getByText("Invoice paid").first().waitFor();
  await dashboard.post({ channel: "shop", name: "Of another", userId: "bob" });
  await dashboard.post({ channel: "shop", name: "Refunded", userId: "ada" });
  await page.getByText("Refunded").first().waitFor();
  expect(await page.getByText("Of another").count()).toBe(0);
});

test("the list finds it by a property, and Ctrl+K leads there", async () => {
  await page.keyboard.press("Control+k");
  await page.keyboard.type("companies");
  await page
    .getByRole("option", { name: /Companies/ })
    .first()
    .click();
  await page.getByLabel("Find in Companies").fill("plan:team");
  const row = page.getByRole("row").filter({ hasText: "ACME Inc." });
  await row.getByText("acme", { exact: true }).waitFor();
  await page.getByLabel("Find in Companies").fill("plan:free");
  await page.getByText("Nothing found").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await row.waitFor();
  await expectAccessible("companies", page);
});

test("a user's page shows companies and notes, which are edited and deleted", async () => {
  await page.goto(`${dashboard.address}/p/default/users/ada`);
  await region("Companies").getByRole("link", { name: "ACME Inc." }).waitFor();
  const notes = region("Notes");
  await notes.getByRole("button", { name: "Write" }).click();
  await dialog().getByLabel("Text").fill("Wants invoices by post.\nCall before noon.");
  await dialog().getByRole("button", { name: "Save" }).click();
  await notes.getByText("Call before noon.").waitFor();
  await expectAccessible("a user with notes", page);
  await chooseAction(page, "this note", "Edit…");
  await dialog().getByLabel("Text").fill("Wants invoices by email.");
  await dialog().getByRole("button", { name: "Save" }).click();
  await notes.getByText("Wants invoices by email.").waitFor();
  await chooseAction(page, "this note", "Delete…");
  await dialog().getByRole("button", { name: "Delete" }).click();
  await notes.getByText("None yet.").waitFor();
});

test("from any event, one sees what the person did before it", async () => {
  await region("Journey").getByRole("link", { name: "Order placed" }).click();
  const before = page.getByRole("region", { name: "Event" });
  await before.getByRole("button", { name: "Show", exact: true }).click();
  await before.getByRole("link", { name: "Signed up" }).waitFor();
  expect(await before.getByRole("link", { name: "Refunded" }).count()).toBe(0);
  await expectAccessible("an event with what happened before", page);
});

test("whoever is removed takes their events along, and a deleted company is gone", async () => {
  await page.goto(`${dashboard.address}/p/default/groups/company/acme`);
  await chooseAction(page, "ada", "Remove…");
  await dialog().getByRole("button", { name: "Remove" }).click();
  await region("People").getByText("Nobody yet").waitFor();
  await region("Last events").getByText("Order placed").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog().getByRole("button", { name: "Delete" }).click();
  await page.getByText("None yet").waitFor();
  expect(complaints).toEqual([]);
});
