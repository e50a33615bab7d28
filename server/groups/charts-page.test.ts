// @long
/** Charts by company in a real browser: tiles are split by companies and count them, and lead to their pages. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(
    await dashboard.newContext({ viewport: { width: 1440, height: 1400 } }),
  ));
  const at = (minutesAgo: number) => Date.now() - minutesAgo * 60_000;
  await dashboard.post([
    { channel: "shop", name: "Report opened", userId: "ada", createdAt: at(9) },
    { channel: "shop", name: "Report opened", userId: "bob", createdAt: at(8) },
    { channel: "shop", name: "Report opened", userId: "cy", createdAt: at(7) },
    { channel: "billing", name: "Invoice paid", tags: { company: "acme" }, createdAt: at(5) },
    { channel: "billing", name: "Invoice paid", tags: { company: "umbrella" }, createdAt: at(4) },
  ]);
  for (const data of [
    { type: "company", id: "acme", properties: { name: "ACME Inc.", plan: "pro" }, userId: "ada" },
    { type: "company", id: "acme", userId: "bob" },
    { type: "company", id: "initech", properties: { plan: "free" }, userId: "bob" },
    { type: "company", id: "initech", userId: "cy" },
  ])
    await call("/api/groups", data);
  await page.goto(`${dashboard.address}/p/default/boards`);
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
});

async function call(to: string, data: object): Promise<void> {
  const response = await page.request.post(`${dashboard.address}${to}?project=default`, {
    data,
    headers: { origin: dashboard.address },
  });
  expect(`${response.status()} ${await response.text()}`).toStartWith("20");
}

const dialog = () => page.getByRole("dialog");
const tile = (name: string) => page.getByRole("region", { name, exact: true });
const button = (name: string) => page.getByRole("button", { name, exact: true });

async function addTile(fill: () => Promise<void>): Promise<void> {
  await button("Add tile").click();
  await fill();
  await dialog().getByRole("button", { name: "Add tile" }).click();
  await dialog().waitFor({ state: "detached" });
}

test("a tile is split by company, says that its rows don't add up, and leads to a company's events", async () => {
  await button("Edit").click();
  await addTile(async () => {
    await dialog().getByRole("radio", { name: "Table" }).check();
    await dialog().getByLabel("Title").fill("By company");
    await dialog().getByLabel("A row for each").selectOption({ label: "Company" });
    await dialog().getByText("Whatever belongs to two companies counts for both.").first().waitFor();
    await dialog()
      .getByRole("row", { name: /ACME Inc\. 3/ })
      .waitFor();
    await expectAccessible("the form of a tile by company", page);
  });
  await addTile(async () => {
    await dialog().getByRole("radio", { name: "Bars" }).check();
    await dialog().getByLabel("Title").fill("By plan");
    await dialog().getByLabel("Split by").selectOption({ label: "Company" });
    await dialog().getByLabel("Property of the company").fill("plan");
    await dialog().getByRole("button", { name: /^pro/ }).waitFor();
  });
  await addTile(async () => {
    await dialog().getByRole("radio", { name: "Number" }).check();
    await dialog().getByLabel("Show").selectOption({ label: "Number of companies" });
    await dialog().getByLabel("Title").fill("Active companies");
  });
  await addTile(async () => {
    await dialog().getByRole("radio", { name: "Funnel" }).check();
    await dialog().getByLabel("Title").fill("Companies that pay");
    await dialog().getByLabel("Step 1", { exact: true }).fill('name:"Report opened"');
    await dialog().getByLabel("Step 2", { exact: true }).fill('name:"Invoice paid"');
    await dialog().getByLabel("Count", { exact: true }).selectOption({ label: "Companies" });
    await dialog().getByText("50%").first().waitFor();
  });
  await button("Save").click();
  await button("Save").waitFor({ state: "detached" });
  await tile("By company").getByText("Whatever belongs to two companies counts for both.").waitFor();
  await tile("Active companies").getByText("3", { exact: true }).waitFor();
  await expectAccessible("a board by company", page);
  await tile("By company").getByRole("link", { name: "initech", exact: true }).click();
  await page.getByText("Report opened").first().waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("company:initech");
  expect(await page.getByText("Invoice paid").count()).toBe(0);
});

test("a funnel of companies leads to a list of companies, which can't be a cohort, and on to their pages", async () => {
  await page.goto(`${dashboard.address}/p/default/boards`);
  await tile("Companies that pay")
    .getByRole("link", { name: /companies took “Report opened”/ })
    .click();
  await page.getByText("2 companies").waitFor();
  await page.getByRole("link", { name: "ACME Inc." }).waitFor();
  await page.getByRole("link", { name: "initech" }).waitFor();
  expect(await button("Save as cohort").count()).toBe(0);
  await expectAccessible("a list of companies", page);
  await page.goBack();
  await tile("Active companies").getByRole("link", { name: /^3/ }).click();
  // No page has it: only an event names it.
  await page.getByText("not saved").waitFor();
  await page.getByRole("link", { name: "Events", exact: true }).first().waitFor();
  await page.getByRole("link", { name: "ACME Inc." }).click();
  await page.getByRole("heading", { name: "ACME Inc." }).waitFor();
  expect(complaints).toEqual([]);
});
