// @long
/** Annotations in a real browser: mark events, write a note from a chart, read both by keyboard and as a table. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { until } from "../testing/until.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(await dashboard.newContext()));
  await dashboard.post({ channel: "deploys", name: "Deployed 2.4.1", icon: "🚀" });
  await dashboard.post({ channel: "orders", name: "Order placed", userId: "ada" });
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

const dialog = () => page.getByRole("dialog");
const row = (text: string) => page.getByRole("row").filter({ hasText: text });
const chart = () => page.getByRole("slider", { name: "Events by channel" });

/** The newest bar or point of a chart, as screen readers say it. */
async function newestText(slider = chart()): Promise<string> {
  await slider.focus();
  await page.keyboard.press("End");
  return (await slider.getAttribute("aria-valuetext"))!;
}

/** All bars of a chart, as screen readers say them. */
async function textsOf(slider: Locator): Promise<string> {
  const bars = Number(await slider.getAttribute("aria-valuemax")) + 1;
  const texts = [await newestText(slider)];
  for (let bar = 1; bar < bars; bar++) {
    await page.keyboard.press("ArrowLeft");
    texts.push((await slider.getAttribute("aria-valuetext"))!);
  }
  return texts.join("; ");
}

test("the events of a search are marked on boards and above the feed, until they are turned off", async () => {
  await page.goto(`${dashboard.address}/p/default/annotations`);
  await page.getByText("Charts have no marks").waitFor();
  await expectAccessible("no annotations", page);
  await page.getByRole("button", { name: "New annotation" }).click();
  await expectAccessible("a new annotation", page);
  await dialog().getByLabel("Name").fill("Deployment");
  await dialog().getByRole("radio", { name: "Color 4" }).check();
  await dialog().getByRole("button", { name: "Create" }).click();
  await dialog().getByText("must not be empty").waitFor();
  await dialog().getByLabel("Events that it marks").fill("channel:deploys");
  await dialog().getByRole("button", { name: "Create" }).click();
  await row("channel:deploys").waitFor();

  await page.goto(`${dashboard.address}/p/default/boards`);
  await until(async () => (await newestText()).includes("Marked: Deployment: Deployed 2.4.1"));
  await page.goto(`${dashboard.address}/p/default`);
  const histogram = page.getByRole("slider", { name: /^Events over time/ });
  // Its bars are shorter than those of boards, so the newest one can be later than the event.
  await until(async () => (await textsOf(histogram)).includes("Marked: Deployment: Deployed 2.4.1"));
  await page.getByRole("button", { name: "Show as table" }).first().click();
  const link = page.getByRole("table", { name: /^Marks/ }).getByRole("link");
  expect(await link.textContent()).toBe("Deployment: Deployed 2.4.1");
  await expectAccessible("marks as a table", page);

  await page.goto(`${dashboard.address}/p/default/annotations`);
  await chooseAction(page, "Deployment", "Turn off");
  await row("Deployment").getByText("Off").waitFor();
  await page.goto(`${dashboard.address}/p/default/boards`);
  await until(async () => (await newestText()).includes("orders 1"));
  expect(await newestText()).not.toContain("Marked");
});

test("a note is written on a bar of a chart, and shown only on its board", async () => {
  await newestText();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Write a note…" }).click();
  await dialog().getByLabel("Note").fill("Shop opens");
  expect(await dialog().getByLabel("Charts").inputValue()).not.toBe("");
  await expectAccessible("a new note", page);
  await dialog().getByRole("button", { name: "Create" }).click();
  await until(async () => (await newestText()).includes("Marked: Shop opens"));
  const tile = page.getByRole("region", { name: "Events by channel", exact: true });
  await tile.getByRole("button", { name: /^Menu of/ }).click();
  await page.getByRole("menuitem", { name: "Show as table" }).click();
  await tile
    .getByRole("table", { name: /^Marks/ })
    .getByText("Shop opens")
    .waitFor();
  await tile.getByRole("cell", { name: "1", exact: true }).first().waitFor();
  await expectAccessible("a chart as a table", page);
  await page.goto(`${dashboard.address}/p/default`);
  await page.getByRole("slider", { name: /^Events over time/ }).waitFor();
  expect(await textsOf(page.getByRole("slider", { name: /^Events over time/ }))).not.toContain("Shop");
});

test("a note is changed and deleted, on a phone, too", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${dashboard.address}/p/default/annotations`);
  await chooseAction(page, "Shop opens", "Edit…");
  await dialog().getByLabel("When").selectOption("day");
  await dialog().getByLabel("Day").fill("2026-11-27");
  await dialog().getByLabel("Charts").selectOption("");
  await dialog().getByRole("button", { name: "Save" }).click();
  await row("Shop opens").getByText("November 27, 2026").waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await chooseAction(page, "Shop opens", "Delete…");
  await page.getByRole("alertdialog").or(dialog()).getByRole("button", { name: "Delete" }).click();
  await row("Shop opens").waitFor({ state: "detached" });
  // The browser reports the answer to the empty search.
  expect(complaints.filter((text) => !text.includes("422"))).toEqual([]);
});
