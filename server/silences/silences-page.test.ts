// @long
/** Silences in a real browser: silence now, see why nobody was notified, end it, plan one, change and delete it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

const dialog = () => page.getByRole("dialog");
const row = (text: string) => page.getByRole("row").filter({ hasText: text });
const note = () => page.getByRole("list", { name: "Active silences" });

test("a silence begins now, says so on the feed and with what it covers, and is ended from there", async () => {
  await dashboard.post({ channel: "servers", name: "Disk full", tags: { server: "db-1" } });
  await page.goto(`${dashboard.address}/p/default/silences`);
  await page.getByText("Nothing is silenced").waitFor();
  await expectAccessible("no silences", page);
  await page.getByRole("button", { name: "New silence" }).click();
  await dialog().getByLabel("Reason").fill("Deployment of the shop");
  await dialog().getByLabel("Events that it covers").fill("server=db-1");
  await dialog().getByText("1 event of the last 24 hours. No alert that is open now.").waitFor();
  await dialog().getByRole("radio", { name: "Some rules" }).check();
  await dialog().getByText("Choose a rule to see").waitFor();
  await expectAccessible("a new silence", page);
  await dialog().getByRole("radio", { name: "All rules" }).check();
  await dialog().getByLabel("Lasts").selectOption("4h");
  await dialog().getByRole("button", { name: "Silence now" }).click();
  await row("Deployment of the shop").getByText("Active").waitFor();
  await expectAccessible("an active silence", page);

  const event = await dashboard.post({
    channel: "servers",
    name: "Disk full",
    notify: true,
    tags: { server: "db-1" },
  });
  await page.goto(`${dashboard.address}/p/default/events/${event.id}`);
  await page
    .getByText(/Silenced by .*: Deployment of the shop/)
    .first()
    .waitFor();
  await note()
    .getByText(/^Silenced until .* by .*: Deployment of the shop$/)
    .waitFor();
  await expectAccessible("the feed while something is silenced", page);
  await page.goto(`${dashboard.address}/p/default/alerts`);
  await note().getByRole("button", { name: "End now" }).click();
  await note().waitFor({ state: "detached" });
  await page.goto(`${dashboard.address}/p/default/silences`);
  await page.getByRole("region", { name: "Ended" }).getByText("Deployment of the shop").waitFor();
});

test("a silence is planned, changed and deleted", async () => {
  await page.getByRole("button", { name: "New silence" }).click();
  await dialog().getByLabel("Reason").fill("Move of the database");
  await dialog().getByLabel("Begins", { exact: true }).selectOption("later");
  await dialog().getByLabel("Lasts").selectOption("custom");
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  await dialog()
    .getByLabel("Begins at")
    .fill(`${day(3)}T10:00`);
  await dialog()
    .getByLabel("Ends at")
    .fill(`${day(3)}T09:00`);
  await dialog().getByRole("button", { name: "Plan silence" }).click();
  await dialog().getByText("must be later than").waitFor();
  await dialog()
    .getByLabel("Ends at")
    .fill(`${day(3)}T12:00`);
  await dialog().getByRole("button", { name: "Plan silence" }).click();
  await row("Move of the database").getByText("Planned").waitFor();
  await chooseAction(page, "Move of the database", "Edit…");
  await dialog().getByLabel("Reason").fill("Move of the databases");
  await dialog().getByRole("button", { name: "Save" }).click();
  await row("Move of the databases").waitFor();
  await chooseAction(page, "Move of the databases", "Delete…");
  await page.getByRole("alertdialog").or(dialog()).getByRole("button", { name: "Delete" }).click();
  await page.getByText("Nothing is silenced").waitFor();
});

test("silences fit on a phone", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("region", { name: "Ended" }).waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  // The browser reports the answer to the silence that ends before it begins.
  expect(complaints.filter((text) => !text.includes("422"))).toEqual([]);
});
