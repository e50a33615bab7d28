// @long
/** Heartbeats in a real browser: create one, ping it, see the ping, edit, give it a badge, pause, delete. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { until } from "../testing/until.ts";

let dashboard: TestDashboard;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

const dialog = () => page.getByRole("dialog");
const main = () => page.getByRole("main");

test("a heartbeat is created, pinged, watched, changed and deleted", async () => {
  await page.goto(`${dashboard.address}/p/default/heartbeats`);
  await page.getByText("No heartbeats yet").waitFor();
  await expectAccessible("no heartbeats", page);
  await page.getByRole("button", { name: "New heartbeat" }).click();
  await dialog().getByLabel("Name", { exact: true }).fill("Nightly backup");
  await dialog().getByRole("radio", { name: /Cron/ }).check();
  await dialog().getByLabel("Cron expression").fill("0 0 30 2 *");
  await dialog().getByText("never fires").waitFor();
  await expectAccessible("a heartbeat with a mistake", page);
  await dialog().getByLabel("Cron expression").fill("30 2 * * *");
  await dialog().getByText(/2:30/).first().waitFor();
  await dialog().getByRole("button", { name: "Create heartbeat" }).click();

  await page.getByRole("heading", { name: "Nightly backup" }).waitFor();
  await main().getByText("No ping yet").waitFor();
  const url = (await page.locator("[data-secret]").textContent())!;
  expect(await (await fetch(`${url}/start`)).text()).toBe("OK");
  expect((await fetch(`${url}/0`, { method: "POST", body: "<b>14 tables</b>" })).status).toBe(200);
  // It appears by itself.
  const pings = page.getByRole("list", { name: "Pings" });
  await pings.getByText("Success").waitFor();
  await pings.getByText("Show what was sent").click();
  await pings.getByText("<b>14 tables</b>").waitFor();
  await main().getByText("Up", { exact: true }).waitFor();
  await main().getByLabel("Example").first().selectOption({ label: "systemd service" });
  await main().getByText("ExecStopPost").waitFor();
  await expectAccessible("a heartbeat", page);
  await page.getByRole("button", { name: "Turn on the badge" }).click();
  const image = page.getByRole("img", { name: "Nightly backup, its badge" });
  await image.waitFor();
  await until(() =>
    image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth > 20),
  );

  await page.getByRole("button", { name: "Edit" }).click();
  await dialog().getByLabel("Grace", { exact: true }).fill("2");
  await dialog().getByRole("button", { name: "Save" }).click();
  await main().getByText("Grace of 2 hours").waitFor();

  await page.getByRole("link", { name: "All heartbeats" }).click();
  await page.getByRole("row").filter({ hasText: "Up" }).waitFor();
  await expectAccessible("the list of heartbeats", page);
  await chooseAction(page, "Nightly backup", "Pause");
  await page.getByRole("row").filter({ hasText: "Paused" }).waitFor();
  await chooseAction(page, "Nightly backup", "Replace the address…");
  await dialog().or(page.getByRole("alertdialog")).getByRole("button", { name: "Replace address" }).click();
  const replaced = (await page.locator("[data-secret]").textContent())!;
  expect([(await fetch(url)).status, (await fetch(replaced)).status]).toEqual([404, 200]);
  await dialog().getByRole("button", { name: "Done" }).click();
  await chooseAction(page, "Nightly backup", "Delete…");
  await page.getByRole("alertdialog").or(dialog()).getByRole("button", { name: "Delete" }).click();
  await page.getByText("No heartbeats yet").waitFor();
  // The browser reports the answer to the expression that never fires.
  expect(complaints.filter((text) => !text.includes("422"))).toEqual([]);
});
