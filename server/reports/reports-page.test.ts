// @long
/** Reports in a real browser: send a board, see its picture before, send a test, change the schedule, delete. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { openDashboard, type TestDashboard } from "../e2e/browser/dashboard.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { until } from "../testing/until.ts";

let dashboard: TestDashboard;
let receiver: DestinationReceiver;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  dashboard = await openDashboard();
  receiver = await destinationReceiver();
  const hook = { kind: "slack", name: "Slack #shop", settings: receiver.settings.slack };
  const added = await fetch(`${dashboard.address}/api/project-destinations`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dashboard.key },
    body: JSON.stringify(hook),
  });
  expect(added.status).toBe(201);
  ({ page, complaints } = await openPage(await dashboard.newContext()));
});
afterAll(async () => {
  await dashboard?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const dialog = () => page.getByRole("dialog");

test("a board is sent as a report, changed, tried and deleted", async () => {
  await page.goto(`${dashboard.address}/p/default/reports`);
  await page.getByText("No reports yet").waitFor();
  await expectAccessible("no reports", page);

  await page.goto(`${dashboard.address}/p/default/boards`);
  await page.getByRole("button", { name: "Menu of the board" }).click();
  await page.getByRole("menuitem", { name: "Send as a report…" }).click();
  const picture = dialog().getByRole("img", { name: /numbers and charts/ });
  await until(() =>
    picture.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth === 1_440),
  );
  await expectAccessible("a new report", page);
  await dialog().getByRole("button", { name: "Create report" }).click();
  await dialog().getByText("This server sends no email").waitFor();
  await dialog().getByLabel("To", { exact: true }).selectOption({ label: "Slack #shop" });
  await dialog().getByLabel("Every", { exact: true }).selectOption({ label: "month" });
  await dialog().getByLabel("On day").fill("31");
  await dialog().getByRole("button", { name: "Create report" }).click();
  await page.getByText("Overview goes to Slack #shop").waitFor();

  await page.goto(`${dashboard.address}/p/default/reports`);
  const row = page.getByRole("row").filter({ hasText: "Overview" });
  await row.getByText("Every month on day 31").waitFor();
  await row.getByText("Not sent yet").waitFor();
  await chooseAction(page, "Overview", "Send a test now");
  // It changes by itself.
  await row.getByText(/^Sent/).first().waitFor();
  expect(JSON.stringify(receiver.take().body)).toContain("Test: Overview");
  await expectAccessible("the list of reports", page);

  await chooseAction(page, "Overview", "Edit…");
  await dialog().getByLabel("Every", { exact: true }).selectOption({ label: "day" });
  await dialog().getByLabel("At", { exact: true }).fill("07:30");
  await dialog().getByRole("button", { name: "Save" }).click();
  await row.getByText("Every day at 7:30").waitFor();
  await chooseAction(page, "Overview", "Turn off");
  await row.getByText("Off", { exact: true }).waitFor();
  await chooseAction(page, "Overview", "Delete…");
  await page.getByRole("alertdialog").or(dialog()).getByRole("button", { name: "Delete" }).click();
  await page.getByText("No reports yet").waitFor();
  // The browser reports the answer that there is no email.
  expect(complaints.filter((text) => !text.includes("409"))).toEqual([]);
});
