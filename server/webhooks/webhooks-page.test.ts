// @long
/** Webhooks in a real browser: create one with a live preview, send to its address, mend the mapping, resend, delete. */
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
const preview = () => dialog().getByRole("region", { name: "Preview" });

test("a webhook is created with a preview, receives, and what it rejected is resent after a change", async () => {
  await page.goto(`${dashboard.address}/p/default/webhooks`);
  await page.getByText("No webhooks yet").waitFor();
  await page.getByRole("button", { name: "New webhook" }).click();
  await dialog().getByRole("button", { name: "Any other service" }).click();
  await dialog().getByLabel("Name", { exact: true }).fill("Shop");
  await dialog().getByLabel("Channel").fill("orders");
  await preview().getByText("order.paid").waitFor();
  await dialog().getByLabel("Event name").fill("Order {{");
  await dialog().getByText('"name" has a mistake at character 9').first().waitFor();
  await dialog().getByLabel("Event name").fill("Order <b>{{status}}</b>");
  await dialog().getByRole("button", { name: "Add a tag" }).click();
  await dialog().getByLabel("Tag 1", { exact: true }).fill("amount");
  await dialog().getByLabel("Value").fill("{{amount}}");
  await preview().getByText("Would be rejected:").waitFor();
  await expectAccessible("a webhook with a mistake", page);
  await dialog().getByLabel("A request's body").fill('{"status":"paid","amount":7}');
  await preview().getByText("Order <b>paid</b>").waitFor();
  await preview().getByText("amount: 7").waitFor();
  await dialog().getByRole("button", { name: "Create webhook" }).click();
  const url = (await page.locator("[data-secret]").textContent())!;
  await dialog().getByRole("button", { name: "Done" }).click();
  await page.getByRole("row").filter({ hasText: "Nothing received yet" }).waitFor();

  const body = JSON.stringify({ state: "paid", amount: 49 });
  expect((await fetch(url, { method: "POST", body })).status).toBe(422);
  await chooseAction(page, "Shop", "Show the address…");
  expect(await page.locator("[data-secret]").textContent()).toBe(url);
  await expectAccessible("a webhook's address", page);
  await dialog().getByRole("button", { name: "Done" }).click();
  await chooseAction(page, "Shop", "Edit…");
  // The preview begins with the last request.
  await preview().getByText("Would be rejected:").waitFor();
  await dialog().getByLabel("Event name").fill("Order {{state}}");
  await preview().getByText("Order paid").waitFor();
  await preview().getByText("amount: 49").waitFor();
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "hidden" });
  await chooseAction(page, "Shop", "Show what it received…");
  await expectAccessible("what a webhook received", page);
  await dialog().getByRole("button", { name: "Send again" }).click();
  await dialog().getByRole("link", { name: "View event" }).click();
  await page.getByRole("heading", { name: "Order paid" }).waitFor();

  await page.goto(`${dashboard.address}/p/default/webhooks`);
  await chooseAction(page, "Shop", "Delete…");
  await page.getByRole("alertdialog").or(dialog()).getByRole("button", { name: "Delete" }).click();
  await page.getByText("No webhooks yet").waitFor();
  expect((await fetch(url, { method: "POST", body })).status).toBe(404);
  expect(complaints).toEqual([]);
});

test("a log drain is created without a mapping, and its lines are tried on again as they were received", async () => {
  await page.goto(`${dashboard.address}/p/default/webhooks`);
  await page.getByRole("button", { name: "New webhook" }).click();
  await dialog().getByRole("button", { name: "Heroku" }).click();
  await dialog().getByLabel("Name", { exact: true }).fill("Logs");
  await dialog().getByLabel("Channel").fill("logs");
  await preview().getByText("Order placed").waitFor();
  await dialog().getByText("Without it, whoever has the address can send.").waitFor();
  await dialog().getByRole("button", { name: "Create webhook" }).click();
  const url = (await page.locator("[data-secret]").textContent())!;
  await dialog().getByText("You can edit the webhook and enter its signing secret.").waitFor();
  await dialog().getByRole("button", { name: "Done" }).click();
  // Nothing is missing.
  expect(await page.getByText("Its signing secret is missing").count()).toBe(0);

  const line = "<190>1 2026-11-26T12:00:00+00:00 host app web.1 - Order 7 placed\n";
  expect((await fetch(url, { method: "POST", body: `${line.length} ${line}` })).status).toBe(201);
  await chooseAction(page, "Logs", "Edit…");
  await preview().getByText("Order 7 placed").waitFor();
  const sent = dialog().getByLabel("A request's body");
  await sent.fill((await sent.inputValue()).replace("Order 7 placed", "Order 8 placed"));
  await preview().getByText("Order 8 placed").waitFor();
  expect(complaints).toEqual([]);
});
